package format_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/bson"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/y3"
)

// ruleFormat is a format with five paths, of which the last two lie in a container, and a function that encodes values
// at these paths. A value of Kind Missing is left out.
type ruleFormat struct {
	format.Format
	paths  [5]string
	encode func(t testing.TB, paths [5]string, values [5]field.Value) []byte
}

var named = [5]string{"a", "b", "c", "n.d", "n.e"}

var ruleFormats = []ruleFormat{
	{cbor.Format{}, named, inserter(cbor.Format{}, "\xa0")},
	{json.Format{}, named, inserter(json.Format{}, "{}")},
	{bson.Format{}, named, inserter(bson.Format{}, "\x05\x00\x00\x00\x00")},
	{msgpack.Format{}, named, inserter(msgpack.Format{}, "\x80")},
	{y3.Format{}, [5]string{"0x01", "0x02", "0x03", "0x04.0x05", "0x04.0x06"}, encodeY3},
	{protobuf.Format{}, [5]string{"1", "2", "3", "4.5", "4.6"}, encodeProtobuf},
}

// inserter encodes by inserting one value after the other.
func inserter(f format.Editor, empty string) func(testing.TB, [5]string, [5]field.Value) []byte {
	return func(t testing.TB, paths [5]string, values [5]field.Value) []byte {
		t.Helper()
		data := []byte(empty)
		insert := func(path string, v field.Value) {
			var e format.Edit
			if err := f.Insert(&e, data, field.MustParse(path), v); err != nil {
				return // a value that the format cannot represent is left out
			}
			data = e.AppendTo(nil)
		}
		insert("n", field.Value{Kind: field.Map, Bytes: []byte(empty)})
		for i, v := range values {
			if v.Kind != field.Missing {
				insert(paths[i], v)
			}
		}
		return data
	}
}

func encodeY3(t testing.TB, _ [5]string, values [5]field.Value) []byte {
	t.Helper()
	b := y3.NewBuilder(y3.P)
	write := func(key int, v field.Value) {
		switch v.Kind {
		case field.Int:
			b.Int64(key, v.Int)
		case field.Float:
			b.Float64(key, v.Float)
		case field.Bool:
			b.Bool(key, v.Bool)
		case field.Text, field.Bytes:
			b.Bytes(key, v.Bytes)
		}
	}
	for i := range 3 {
		write(i+1, values[i])
	}
	b.Node(4)
	write(5, values[3])
	write(6, values[4])
	b.End()
	data, err := b.Message()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func encodeProtobuf(_ testing.TB, _ [5]string, values [5]field.Value) []byte {
	write := func(b []byte, number uint64, v field.Value) []byte {
		switch v.Kind {
		case field.Int:
			return binary.AppendUvarint(append(b, byte(number<<3)), uint64(v.Int))
		case field.Float:
			return binary.LittleEndian.AppendUint64(append(b, byte(number<<3|1)), math.Float64bits(v.Float))
		case field.Bool:
			return append(b, byte(number<<3), map[bool]byte{true: 1}[v.Bool])
		case field.Text, field.Bytes:
			return append(append(b, byte(number<<3|2), byte(len(v.Bytes))), v.Bytes...)
		}
		return b
	}
	var data []byte
	for i := range 3 {
		data = write(data, uint64(i+1), values[i])
	}
	nested := write(write(nil, 5, values[3]), 6, values[4])
	return append(append(data, 4<<3|2, byte(len(nested))), nested...)
}

// ruleGenerator makes random predicates and messages. Literals and values come from the same short lists, so that many
// predicates hold.
type ruleGenerator struct {
	*rand.Rand
	format ruleFormat
}

func pick[T any](g *ruleGenerator, list ...T) T { return list[g.IntN(len(list))] }

func (g *ruleGenerator) predicate(depth int) string {
	if depth == 0 || g.IntN(4) == 0 {
		return g.test()
	}
	n := 1 + g.IntN(3)
	parts := make([]string, n)
	for i := range parts {
		if parts[i] = g.predicate(depth - 1); n > 1 || g.IntN(3) == 0 {
			parts[i] = "(" + parts[i] + ")"
		}
		if g.IntN(6) == 0 {
			parts[i] = "!(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, pick(g, " && ", " && ", " || "))
}

func (g *ruleGenerator) test() string {
	i := g.IntN(5)
	path := g.format.paths[i]
	if g.IntN(10) == 0 {
		return "exists(" + path + ")"
	}
	operand, casts := path, 8
	if g.format.Descriptor().Numbered {
		casts = 1
	}
	if g.IntN(casts) == 0 { // one cast for each path: a predicate must not read a path as two types
		operand = [5]string{"int64", "string", "float64", "bool", "string"}[i] + "(" + path + ")"
	}
	texts := []string{`""`, `"a"`, `"ab"`, `"abc"`, `"b"`, `"1"`, `"2.0"`, `"\xff"`, `"\xff\xff"`, `"quote \" here"`}
	switch g.IntN(12) {
	case 0, 1:
		return fmt.Sprintf("prefix(%s, %s)", operand, pick(g, texts...))
	case 2:
		return operand + pick(g, " == true", " == false", " != true", " != false")
	case 3, 4, 5, 6:
		return operand + pick(g, " == ", " == ", " == ", " != ", " < ", " <= ", " > ", " >= ") + pick(g, texts...)
	}
	numbers := []string{"-2", "0", "1", "2", "2.0", "1.5", "3", "4", "1e300", "9223372036854775808", "18446744073709551615", "-9223372036854775808", "9007199254740993", "9007199254740992.0", "18446744073709551616", "18446744073709551617", "9007199254740992.5", "0.10000000000000001", "0.1"}
	return operand + pick(g, " == ", " == ", " == ", " != ", " < ", " <= ", " > ", " >= ") + pick(g, numbers...)
}

func (g *ruleGenerator) value() field.Value {
	text := func(s string) field.Value { return field.Value{Kind: field.Text, Bytes: []byte(s)} }
	integer := func(n int64) field.Value { return field.Value{Kind: field.Int, Int: n} }
	float := func(f float64) field.Value { return field.Value{Kind: field.Float, Float: f} }
	return pick(g,
		field.Value{}, field.Value{Kind: field.Null}, field.Value{Kind: field.Bool, Bool: true}, field.Value{Kind: field.Bool},
		text(""), text("a"), text("ab"), text("abc"), text("b"), text("ba"), text("1"), text("+2"), text("2.0"), text("1e300"), text(`quote " here`),
		text("9223372036854775808"), text("x1"), text("18446744073709551617.0"), text("9007199254740993.0"), text("9007199254740992.50"), text("0.100000000000000010"), text("0.1"),
		field.Value{Kind: field.Bytes, Bytes: []byte("ab")}, field.Value{Kind: field.Bytes, Bytes: []byte("\xff\xff")}, field.Value{Kind: field.Bytes, Bytes: []byte("2")},
		integer(-2), integer(0), integer(1), integer(2), integer(3), integer(4), integer(9007199254740993), integer(math.MinInt64),
		field.Value{Kind: field.Int, Int: math.MinInt64, Unsigned: true}, field.Value{Kind: field.Int, Int: -1, Unsigned: true},
		float(2), float(1.5), float(math.NaN()), float(math.Inf(1)), float(math.Inf(-1)), float(math.Copysign(0, -1)), float(1<<63), float(1<<64), float(0.1), float(9007199254740992))
}

// message returns an encoded message. One of eight is malformed.
func (g *ruleGenerator) message(t testing.TB) []byte {
	var values [5]field.Value
	for i := range values {
		values[i] = g.value()
	}
	data := g.format.encode(t, g.format.paths, values)
	switch g.IntN(16) {
	case 0:
		return data[:g.IntN(len(data)+1)]
	case 1:
		data = slices.Clone(data)
		data[g.IntN(len(data))] ^= 1 << g.IntN(8)
	}
	return data
}

// ruleSet is an index beside one Matcher for each of its predicates.
type ruleSet struct {
	index    *field.Index
	matcher  *format.IndexMatcher
	matchers map[int]*format.Matcher
	ids      []int
}

func newRuleSet(f format.Format) *ruleSet {
	x := field.NewIndex()
	return &ruleSet{index: x, matcher: format.NewIndexMatcher(f, x), matchers: map[int]*format.Matcher{}}
}

func (s *ruleSet) add(t testing.TB, f format.Format, text string) {
	t.Helper()
	p, err := field.ParsePredicate(text)
	if err != nil {
		t.Fatal(err)
	}
	id := s.index.Add(p)
	if s.matchers[id] != nil || id >= s.index.Cap() || s.index.Predicate(id) != p {
		t.Fatalf("Add returns the id %d, which is in use or out of range", id)
	}
	s.matchers[id] = format.NewMatcher(f, p)
}

func (s *ruleSet) remove(id int) {
	s.index.Remove(id)
	delete(s.matchers, id)
}

// check compares the results of the index with those of each predicate alone.
func (s *ruleSet) check(t testing.TB, data []byte) (held int) {
	t.Helper()
	var want []int
	wantMismatches, wantMalformed := 0, 0
	for id, m := range s.matchers {
		ok, mismatch, err := m.Match(data)
		if ok {
			want = append(want, id)
		}
		if mismatch {
			wantMismatches++
		}
		if err != nil {
			wantMalformed++
		}
	}
	var mismatches, malformed int
	s.ids, mismatches, malformed = s.matcher.Match(data, s.ids[:0])
	slices.Sort(want)
	slices.Sort(s.ids)
	if !slices.Equal(s.ids, want) || mismatches != wantMismatches || malformed != wantMalformed {
		t.Errorf("message % x: %d hold, %d mismatches, %d malformed; want %d, %d, %d", data, len(s.ids), mismatches, malformed, len(want), wantMismatches, wantMalformed)
		for id, m := range s.matchers {
			ok, mismatch, err := m.Match(data)
			if got := slices.Contains(s.ids, id); got != ok {
				t.Errorf("%s: got %v, want %v (mismatch %v, %v)", s.index.Predicate(id), got, ok, mismatch, err)
			}
		}
	}
	return len(want)
}

// checkRules adds and removes random predicates, and checks random messages in between.
func checkRules(t testing.TB, f ruleFormat, seed uint64, steps, most int) (held int) {
	g := &ruleGenerator{rand.New(rand.NewPCG(seed, 15)), f}
	s := newRuleSet(f)
	for step := range steps {
		for range 1 + g.IntN(8) {
			if len(s.matchers) < most {
				s.add(t, f, g.predicate(g.IntN(4)))
			}
		}
		if step%3 == 2 || len(s.matchers) == most {
			for id := range s.matchers {
				if g.IntN(3) == 0 || step%16 == 15 {
					s.remove(id)
				}
			}
		}
		for range 4 {
			held += s.check(t, g.message(t))
		}
		if t.Failed() {
			return held
		}
	}
	if s.index.Len() != len(s.matchers) {
		t.Errorf("Len is %d with %d predicates", s.index.Len(), len(s.matchers))
	}
	for id := range s.matchers {
		s.remove(id)
	}
	if n := s.index.Memory(); s.index.Len() != 0 || n != 0 || len(s.index.Sets(nil)) != 0 {
		t.Errorf("an empty index has %d predicates, %d bytes and %d sets of paths", s.index.Len(), n, len(s.index.Sets(nil)))
	}
	return held
}

// TestIndexMatcher compares an index with its predicates, evaluated one by one.
func TestIndexMatcher(t *testing.T) {
	t.Parallel()
	for _, f := range ruleFormats {
		t.Run(f.Name(), func(t *testing.T) {
			t.Parallel()
			held := 0
			for seed := range uint64(12) {
				held += checkRules(t, f, seed, 40, 10+int(seed)*20)
				if t.Failed() {
					t.Fatalf("with seed %d", seed)
				}
			}
			if held < 1000 {
				t.Errorf("only %d predicates held: the test proves little", held)
			}
		})
	}
}

// FuzzIndexMatcher compares an index with its predicates for messages that the fuzzer makes.
func FuzzIndexMatcher(f *testing.F) {
	f.Add(uint64(1), uint8(0), []byte("\xa2\x61a\x01\x61b\x62ab"))
	f.Add(uint64(2), uint8(1), []byte(`{"a":1,"b":"ab","n":{"d":"2.0","e":true}}`))
	f.Fuzz(func(t *testing.T, seed uint64, which uint8, data []byte) {
		form := ruleFormats[int(which)%len(ruleFormats)]
		g := &ruleGenerator{rand.New(rand.NewPCG(seed, 16)), form}
		s := newRuleSet(form)
		for range 20 {
			s.add(t, form, g.predicate(3))
		}
		s.check(t, data)
		for id := range s.matchers {
			if id%2 == 0 {
				s.remove(id)
			}
		}
		s.check(t, data)
		checkRules(t, form, seed, 4, 12)
	})
}

// TestIndexManyPaths uses more paths than a field.Set can have.
func TestIndexManyPaths(t *testing.T) {
	t.Parallel()
	f := ruleFormats[1]
	s := newRuleSet(f)
	for i := range 200 {
		s.add(t, f, fmt.Sprintf("f%d == %d && f%d > 0", i, i, (i+1)%200))
	}
	data := []byte(`{"f7":7,"f8":8,"f9":9,"f150":150,"f151":1,"f199":199,"f0":1}`)
	if held := s.check(t, data); held != 4 {
		t.Errorf("%d predicates hold, want 4", held)
	}
	for i := range 190 {
		s.remove(i)
		s.check(t, data)
	}
	if n := len(s.index.Sets(nil)); n != 1 {
		t.Errorf("11 paths are found in %d passes, want 1", n)
	}
}

func TestIndexMatcherAllocates(t *testing.T) {
	f := ruleFormats[0]
	s := newRuleSet(f)
	for i := range 1000 {
		s.add(t, f, fmt.Sprintf(`a == "device-%d"`, i))
		s.add(t, f, fmt.Sprintf(`b > %d && b <= %d`, i, i+10))
		s.add(t, f, fmt.Sprintf(`prefix(a, "device-%d") || b == %d`, i, i))
		s.add(t, f, fmt.Sprintf(`n.d != %d && !(n.e == %d)`, i%7, i))
	}
	data := f.encode(t, f.paths, [5]field.Value{
		{Kind: field.Text, Bytes: []byte("device-500")}, {Kind: field.Int, Int: 500}, {}, {Kind: field.Int, Int: 3}, {Kind: field.Text, Bytes: []byte("12")},
	})
	if held := s.check(t, data); held < 800 {
		t.Errorf("%d predicates hold", held)
	}
	if n := testing.AllocsPerRun(100, func() { s.ids, _, _ = s.matcher.Match(data, s.ids[:0]) }); n != 0 {
		t.Errorf("Match allocates %v times, want 0", n)
	}
}

// BenchmarkIndexMatcher applies predicates to an event in CBOR, of which one holds.
func BenchmarkIndexMatcher(b *testing.B) {
	f := ruleFormats[0]
	data := f.encode(b, f.paths, [5]field.Value{{Kind: field.Text, Bytes: []byte("device-7")}, {Kind: field.Int, Int: 70}, {Kind: field.Text, Bytes: []byte("north")}, {}, {}})
	for _, kind := range []struct{ name, where string }{
		{"equal", `a == "device-%[1]d"`},
		{"range", `b >= %[1]d0 && b < %[1]d1`},
		{"conjunction", `c == "north" && b > 3 && a == "device-%[1]d"`},
		{"unindexed", `c != "north" && !(b > %[1]d)`},
	} {
		for _, n := range []int{1, 10, 10000} {
			s := newRuleSet(f)
			for i := range n {
				s.add(b, f, fmt.Sprintf(kind.where, i))
			}
			b.Run(fmt.Sprintf("%s/%d", kind.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.ids, _, _ = s.matcher.Match(data, s.ids[:0])
				}
				b.ReportMetric(float64(s.index.Memory())/float64(n), "B/rule")
			})
			p := field.MustParsePredicate(fmt.Sprintf(kind.where, n+1))
			b.Run(fmt.Sprintf("%s/%d/add", kind.name, n), func(b *testing.B) {
				for b.Loop() {
					s.index.Remove(s.index.Add(p))
				}
			})
		}
	}
}

func ExampleIndexMatcher() {
	rules := field.NewIndex()
	for _, where := range []string{`deviceName == "pump-1"`, `deviceName == "pump-2"`, `deviceName == "pump-1" && value > 30`} {
		rules.Add(field.MustParsePredicate(where))
	}
	m := format.NewIndexMatcher(json.Format{}, rules)
	ids, mismatches, _ := m.Match([]byte(`{"deviceName":"pump-1","value":31}`), nil)
	slices.Sort(ids)
	fmt.Println(ids, mismatches)
	// Output: [0 2] 0
}
