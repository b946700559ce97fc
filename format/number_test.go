package format_test

import (
	"math/big"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
)

// TestCompareWithoutRounding compares numbers that a float64 would round. A Matcher, and an IndexMatcher with all
// predicates, must agree.
func TestCompareWithoutRounding(t *testing.T) {
	t.Parallel()
	var j, c, m format.Format = json.Format{}, cbor.Format{}, msgpack.Format{}
	const bignum, negativeBignum = "\xa1\x61a\xc2\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00", "\xa1\x61a\xc3\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00"
	rows := []struct {
		f               format.Format
		data, predicate string
		want            bool
	}{
		{j, `{"a":9007199254740993.0}`, `a == 9007199254740992`, false},
		{j, `{"a":9007199254740993.0}`, `a != 9007199254740992`, true},
		{j, `{"a":9007199254740993.0}`, `a == 9007199254740993`, true},
		{j, `{"a":9007199254740993.0}`, `a > 9007199254740992`, true},
		{j, `{"a":9007199254740993.0}`, `a < 9007199254740994`, true},
		{j, `{"a":"9007199254740993.0"}`, `a == 9007199254740993`, true},
		{j, `{"a":"9007199254740993.0"}`, `a == 9007199254740992.0`, false},
		{j, `{"a":9.007199254740993e15}`, `a == 9007199254740993`, true},
		{j, `{"a":900719925474099.3e1}`, `a == 9007199254740993`, true},
		{j, `{"a":9007199254740993}`, `a == 9007199254740993.0`, true},
		{j, `{"a":9007199254740993}`, `a <= 9007199254740992.9`, false},
		{j, `{"a":-9007199254740993.5}`, `a < -9007199254740993`, true},
		{j, `{"a":123456789012345678901234567891}`, `a == 123456789012345678901234567890`, false},
		{j, `{"a":123456789012345678901234567890}`, `a == 1.2345678901234567890123456789e29`, true},
		{j, `{"a":123456789012345678901234567890}`, `a >= 123456789012345678901234567890`, true},
		{j, `{"a":18446744073709551617}`, `a > 18446744073709551616`, true},
		{j, `{"a":18446744073709551616}`, `a == 18446744073709551616.0`, true},
		{j, `{"a":0.1}`, `a == 0.1`, true},
		{j, `{"a":0.1000}`, `a == 0.1`, true},
		{j, `{"a":0.10000000000000001}`, `a == 0.1`, false},
		{j, `{"a":0.10000000000000001}`, `a > 0.1`, true},
		{j, `{"a":0.30000000000000004}`, `a == 0.30000000000000004`, true},
		{j, `{"a":1e-400}`, `a == 0`, false},
		{j, `{"a":0.00000000000000000000}`, `a == 0`, true},
		{j, `{"a":9007199254740993.0}`, `int64(a) == 9007199254740993`, true},
		{j, `{"a":9007199254740993.0}`, `float64(a) == 9007199254740992`, true},
		{c, "\xa1\x61a\xfb\x3f\xb9\x99\x99\x99\x99\x99\x9a", `a == 0.1`, true},
		{c, "\xa1\x61a\xfb\x3f\xd3\x33\x33\x33\x33\x33\x34", `a == 0.30000000000000004`, true},
		{c, "\xa1\x61a\xfb\x43\xf0\x00\x00\x00\x00\x00\x00", `a == 18446744073709551616`, true},
		{c, "\xa1\x61a\xfb\x43\xf0\x00\x00\x00\x00\x00\x00", `a < 18446744073709551617`, true},
		{c, "\xa1\x61a\x3b\xff\xff\xff\xff\xff\xff\xff\xff", `a < 5`, true},
		{c, "\xa1\x61a\x3b\xff\xff\xff\xff\xff\xff\xff\xff", `a == -18446744073709551616`, true},
		{c, "\xa1\x61a\x3b\xff\xff\xff\xff\xff\xff\xff\xfe", `a == -18446744073709551615`, true},
		{c, "\xa1\x61a\x3b\xff\xff\xff\xff\xff\xff\xff\xfe", `a == -18446744073709551616`, false},
		{c, "\xa1\x61a\x3b\x80\x00\x00\x00\x00\x00\x00\x00", `a < -9223372036854775808`, true},
		{c, bignum, `a > 5`, true},
		{c, bignum, `a == 18446744073709551616`, true},
		{c, bignum, `a != 18446744073709551617`, true},
		{c, negativeBignum, `a == -18446744073709551617`, true},
		{c, negativeBignum, `a < -18446744073709551616`, true},
		{c, "\xa1\x61a\xc2\x42\x00\x07", `a == 7`, true},
		{m, "\x81\xa1a\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", `a == 0.1`, true},
		{m, "\x81\xa1a\xb29007199254740993.0", `a == 9007199254740993`, true},
	}
	for _, f := range []format.Format{j, c, m} {
		x := field.NewIndex()
		ids := map[string]int{}
		for _, row := range rows {
			if _, known := ids[row.predicate]; !known {
				ids[row.predicate] = x.Add(field.MustParsePredicate(row.predicate))
			}
		}
		all := format.NewIndexMatcher(f, x)
		for _, row := range rows {
			if row.f != f {
				continue
			}
			p := field.MustParsePredicate(row.predicate)
			got, mismatch, err := format.NewMatcher(f, p).Match([]byte(row.data))
			if got != row.want || mismatch || err != nil {
				t.Errorf("%s of %q in %s: got %v, mismatch %v, %v", row.predicate, row.data, f.Name(), got, mismatch, err)
			}
			if again := field.MustParsePredicate(p.String()); again.String() != p.String() {
				t.Errorf("%s is printed as %s, and that as %s", row.predicate, p, again)
			}
			found, _, _ := all.Match([]byte(row.data), nil)
			holds := false
			for _, id := range found {
				holds = holds || id == ids[row.predicate]
			}
			if holds != row.want {
				t.Errorf("%s of %q in %s: the index has %v", row.predicate, row.data, f.Name(), holds)
			}
		}
	}
}

// TestJSONKeepsDigits reads a number that a float64 would round, and writes it elsewhere.
func TestJSONKeepsDigits(t *testing.T) {
	t.Parallel()
	for _, digits := range []string{"9007199254740993.0", "123456789012345678901234567890", "0.12345678901234567890", "31.5", "-1e-400"} {
		data := []byte(`{"a":` + digits + `,"b":0.5}`)
		s, err := json.Format{}.Lookup(data, field.MustParse("a"))
		if err != nil {
			t.Fatal(err)
		}
		v, err := json.Format{}.Value(data, s, field.AnyType)
		if err != nil {
			t.Fatal(err)
		}
		exact, _ := new(big.Rat).SetString(digits)
		if f, _ := new(big.Float).SetPrec(2000).SetRat(exact).Float64(); v.Float != f || (string(v.Bytes) != digits) != (digits == "31.5") {
			t.Errorf("%s: got %+v", digits, v)
		}
		out, err := json.Format{}.Patch(nil, data, field.MustParse("b"), v)
		if want := `{"a":` + digits + `,"b":` + digits + `}`; err != nil || string(out) != want {
			t.Errorf("got %s, %v, want %s", out, err, want)
		}
		v.Bytes = []byte(`1,"c":2`)
		if out, err := (json.Format{}).Patch(nil, data, field.MustParse("b"), v); err != nil || (json.Format{}).Validate(out, format.Options{}) != nil || len(out) > len(data)+25 {
			t.Errorf("digits that are no number: got %s, %v", out, err)
		}
	}
}
