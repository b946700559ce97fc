package field

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// evalPredicate evaluates p over values, which maps the text of a path to its value. A path that is not in values is
// missing.
func evalPredicate(p *Predicate, values map[string]Value) (ok, mismatch bool) {
	at := 0
	for at >= 0 {
		t := &p.Tests()[at]
		v, holds := values[p.Set().Paths()[t.Path].String()]
		if !t.Exists {
			unlike := true
			if holds {
				holds, unlike = t.Holds(&v)
			}
			mismatch = mismatch || unlike
		}
		if at = t.Else; holds {
			at = t.Then
		}
	}
	return at == Accept, mismatch
}

func text(s string) Value     { return Value{Kind: Text, Bytes: []byte(s)} }
func integer(n int64) Value   { return Value{Kind: Int, Int: n} }
func float(f float64) Value   { return Value{Kind: Float, Float: f} }
func unsigned(n uint64) Value { return Value{Kind: Int, Int: int64(n), Unsigned: n > math.MaxInt64} }

func TestPredicate(t *testing.T) {
	t.Parallel()
	values := map[string]Value{
		"deviceName":       text("pump-1"),
		"readings.0.value": text("31"),
		"exp":              text("1.5e+00"),
		"n":                integer(-5),
		"big":              integer(1<<53 + 1),
		"top":              unsigned(math.MaxUint64),
		"f":                float(2.5),
		"nan":              float(math.NaN()),
		"on":               {Kind: Bool, Bool: true},
		"raw":              {Kind: Bytes, Bytes: []byte{0xff, 0}},
		"null":             {Kind: Null},
		"long":             text(strings.Repeat("9", 65)),
		"a b`c":            integer(1),
	}
	tests := []struct {
		text         string
		ok, mismatch bool
	}{
		{`deviceName == "pump-1" && readings.0.value > 30`, true, false},
		{`deviceName == "pump-2" && missing > 30`, false, false}, // the first test fails, so the missing field is not read
		{`deviceName == "pump-2" || readings.0.value > 30`, true, false},
		{`deviceName == "pump-1" || missing > 30`, true, false},
		{`missing > 30`, false, true},
		{`missing != 30`, false, true},
		{`!(missing == 30)`, true, true},
		{`exists(n)`, true, false},
		{`exists(missing)`, false, false},
		{`!exists(missing) && exists(null)`, true, false},
		{`prefix(deviceName, "pump-")`, true, false},
		{`prefix(deviceName, "pump-10")`, false, false},
		{`prefix(n, "-")`, false, true},
		{`readings.0.value == 31`, true, false},
		{`readings.0.value == "31"`, true, false},
		{`readings.0.value < 4`, false, false}, // text that is a number is compared as a number
		{`readings.0.value < "4"`, true, false},
		{`exp == 1.5`, true, false},
		{`exp == 15E-1`, true, false},
		{`deviceName > 0`, false, true},
		{`long > 0`, false, true},
		{`n == -5 && n < -4.5 && n >= -5.0 && n > -5.5 && n <= -5 && n != -6`, true, false},
		{`n == "-5"`, false, true},
		{`big == 9007199254740993`, true, false},
		{`big == 9007199254740992.0`, false, false},
		{`big > 9007199254740992.0`, true, false},
		{`top == 18446744073709551615`, true, false},
		{`top < 18446744073709551616.0`, true, false},
		{`top > -1 && top > 9223372036854775807 && n < 18446744073709551615`, true, false},
		{`f == 2.5 && f > 2 && f < 3`, true, false},
		{`nan == 1 || nan < 1 || nan > 1 || nan <= 1 || nan >= 1`, false, false},
		{`nan != 1`, true, false},
		{`on == true && on != false`, true, false},
		{`on == 1`, false, true},
		{`deviceName == true`, false, true},
		{`raw == "\xff\x00"`, true, false},
		{`null == "null"`, false, true},
		{`exists(n) && (deviceName == "x" || !(f < 1)) && !!on == true`, true, false},
		{"`a b``c` == 1", true, false},
		{`deviceName < "pump-2" && deviceName > "pump" && deviceName <= "pump-1" && deviceName >= "pump-1"`, true, false},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			p, err := ParsePredicate(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if ok, mismatch := evalPredicate(p, values); ok != test.ok || mismatch != test.mismatch {
				t.Errorf("got %v, mismatch %v, want %v, %v", ok, mismatch, test.ok, test.mismatch)
			}
			again, err := ParsePredicate(p.String())
			if err != nil || again.String() != p.String() {
				t.Fatalf("canonical text %q: got %v, %v", p, again, err)
			}
			if ok, mismatch := evalPredicate(again, values); ok != test.ok || mismatch != test.mismatch {
				t.Errorf("canonical text %q: got %v, mismatch %v, want %v, %v", p, ok, mismatch, test.ok, test.mismatch)
			}
		})
	}
}

func TestPredicateString(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{` ( a==1 )&&( b > 2 && c<3.0)`, `a == 1 && b > 2 && c < 3.0`},
		{`(a==1||b==1)&&c==1`, `(a == 1 || b == 1) && c == 1`},
		{`a==1||b==1&&c==1`, `a == 1 || b == 1 && c == 1`},
		{`!(a==1) && !!exists(a) && !exists(b)`, `!(a == 1) && exists(a) && !exists(b)`},
		{`!(a==1||b==1)`, `!(a == 1 || b == 1)`},
		{"int32( 0x10.0x11 )>=+30 || `a` == 1e2", `int32(0x10.0x11) >= 30 || a == 100.0`},
		{`prefix( string(0x10) , "\/\u00e9\ud83d\ude00\n\"")`, `prefix(string(0x10), "/é😀\n\"")`},
		{"`a b` == 18446744073709551616", "`a b` == 1.8446744073709552e+19"},
	}
	for _, test := range tests {
		if p, err := ParsePredicate(test.text); err != nil || p.String() != test.want {
			t.Errorf("%s: got %v, %v, want %s", test.text, p, err, test.want)
		}
	}
}

func TestPredicateSet(t *testing.T) {
	t.Parallel()
	p := MustParsePredicate(`exists(b) && int32(a) > 1 && (int32(a) < 9 || b == "x")`)
	var paths []string
	for _, path := range p.Set().Paths() {
		paths = append(paths, path.String())
	}
	if want := []string{"b", "a"}; !slices.Equal(paths, want) {
		t.Errorf("paths: got %q, want %q", paths, want)
	}
	if want := []Type{AnyType, Int32}; !slices.Equal(p.Types(), want) {
		t.Errorf("types: got %v, want %v", p.Types(), want)
	}
}

func TestRename(t *testing.T) {
	t.Parallel()
	names := map[string]printedPath{"level": {MustParse("0x11"), Float32}, "unit": {MustParse("a b"), AnyType}, "id": {MustParse("id"), Int32}, "twin": {MustParse("0x11"), Int32}}
	rename := func(p Path) (Path, Type, error) {
		o, ok := names[p.String()]
		if !ok {
			return Path{}, AnyType, ErrNotFound
		}
		return o.path, o.cast, nil
	}
	for _, test := range []struct{ text, want string }{
		{`level > 30`, `float32(0x11) > 30`},
		{`!(level > 30) && (exists(level) || prefix(unit, "d"))`, "!(float32(0x11) > 30) && (exists(0x11) || prefix(`a b`, \"d\"))"},
		{`int64(id) == 1`, `int64(id) == 1`},
	} {
		if p, err := MustParsePredicate(test.text).Rename(rename); err != nil || p.String() != test.want {
			t.Errorf("%s: got %v, %v, want %s", test.text, p, err, test.want)
		}
	}
	for _, text := range []string{`other == 1`, `level > 1 || twin > 1`} {
		if p, err := MustParsePredicate(text).Rename(rename); err == nil {
			t.Errorf("%s: got %v, want an error", text, p)
		}
	}
}

func TestPredicateErrors(t *testing.T) {
	t.Parallel()
	many := make([]string, MaxSet+1)
	for i := range many {
		many[i] = "exists(k" + strings.Repeat("x", i) + ")"
	}
	tests := []struct{ name, text, want string }{
		{"empty", "", "ends at offset 0, where a path"},
		{"no comparison", "a", "ends at offset 1, where a comparison"},
		{"no literal", "a ==", "ends at offset 4, where a number"},
		{"a path for a literal", "a == b", `has "b" at offset 5, where a number, a string`},
		{"assignment", "a = 1", `has "= 1" at offset 2, where a comparison`},
		{"literal first", "30 < a", `has "a" at offset 5`},
		{"single ampersand", "a == 1 & b == 2", `has "& b == 2" at offset 7, where "&&", "||" or the end`},
		{"open parenthesis", "(a == 1", `ends at offset 7, where "&&", "||" or ")"`},
		{"open string", `a == "x`, `offset 5: the string`},
		{"unknown escape", `a == "\q"`, `offset 6: `},
		{"lone surrogate", `a == "\ud83d"`, `offset 6: `},
		{"open backquote", "`a == 1", "offset 0: the path"},
		{"bad path", "a..b == 1", "offset 0: field: path"},
		{"unknown function", "int33(a) == 1", `offset 0: unknown function "int33"`},
		{"no cast", "any(a) == 1", `unknown function "any"`},
		{"two casts", "int32(a) == 1 || uint32(a) == 1", "is read as int32 and as uint32"},
		{"order of bools", "a < true", "offset 4: true has no order"},
		{"number beyond float64", "a < 1e999", "where a number"},
		{"no number", "a < 1.2.3", "where a number"},
		{"prefix of a number", "prefix(a, 1)", "where a string in double quotes"},
		{"deep", strings.Repeat("(", 40) + "a == 1" + strings.Repeat(")", 40), "nest too deep"},
		{"deep negation", strings.Repeat("!", 40) + "exists(a)", "nest too deep"},
		{"long", strings.Repeat(" ", MaxPredicate) + "a", "at most 4096"},
		{"many paths", strings.Join(many, "&&"), "at most 64"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if p, err := ParsePredicate(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v, want an error with %q", p, err, test.want)
			}
		})
	}
}

func TestHoldsAllocates(t *testing.T) {
	p := MustParsePredicate(`a > 30`)
	s := MustParsePredicate(`a > "` + strings.Repeat("x", 100) + `"`)
	long := text(strings.Repeat("y", 200))
	for _, v := range []Value{text("31"), text("1.5e+00"), text("3.141592653589793e+300"), text("pump-1"), integer(1), float(2)} {
		if got := testing.AllocsPerRun(10, func() { p.Tests()[0].Holds(&v) }); got != 0 {
			t.Errorf("Holds(%+v) allocates %v times, want 0", v, got)
		}
	}
	if got := testing.AllocsPerRun(10, func() { s.Tests()[0].Holds(&long) }); got != 0 {
		t.Errorf("Holds of long text allocates %v times, want 0", got)
	}
}

func FuzzParsePredicate(f *testing.F) {
	for _, s := range []string{
		`deviceName == "pump-1" && readings.0.value > 30`, `!(exists(a) || prefix(b, "\u00e9"))`,
		"int32(0x10.0x11) > -3.5e2", "`a b` != true", `((a<=1))`, "a == \"\xff\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePredicate(s)
		if err != nil {
			return
		}
		again, err := ParsePredicate(p.String())
		if err != nil && len(p.String()) <= MaxPredicate {
			t.Fatalf("%q: canonical text %q: %v", s, p, err)
		}
		if err == nil && again.String() != p.String() {
			t.Errorf("%q: canonical text %q becomes %q", s, p, again)
		}
		for i, test := range p.Tests() {
			for _, next := range []int{test.Then, test.Else} {
				if next != Accept && next != Reject && (next <= i || next >= len(p.Tests())) {
					t.Errorf("%q: test %d goes on at %d of %d", s, i, next, len(p.Tests()))
				}
			}
		}
	})
}
