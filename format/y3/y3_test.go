package y3

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEncodingsOfOtherImplementations compares encodings and decoded values with two libraries: y3 v1.0.5 for dialect
// N, and y3-codec-golang v1.7.3 for dialect P.
func TestEncodingsOfOtherImplementations(t *testing.T) {
	t.Parallel()
	i := func(n int64) field.Value { return field.Value{Kind: field.Int, Int: n} }
	u := func(n uint64) field.Value {
		return field.Value{Kind: field.Int, Int: int64(n), Unsigned: n > math.MaxInt64}
	}
	f := func(x float64) field.Value { return field.Value{Kind: field.Float, Float: x} }
	b := func(v bool) field.Value { return field.Value{Kind: field.Bool, Bool: v} }
	s := func(v string) field.Value { return field.Value{Kind: field.Text, Bytes: []byte(v)} }
	tests := []struct {
		name string
		as   field.Type
		v    field.Value
		n, p string // hex; p is empty where both dialects have the same encoding
	}{
		{"int32 0", field.Int32, i(0), "0a 01 00", ""},
		{"int32 1", field.Int32, i(1), "0a 01 01", ""},
		{"int32 63", field.Int32, i(63), "0a 01 3f", ""},
		{"int32 -1", field.Int32, i(-1), "0a 01 ff", "0a 01 7f"},
		{"int64 -1", field.Int64, i(-1), "0a 01 ff", "0a 01 7f"},
		{"uint32 max", field.Uint32, u(math.MaxUint32), "0a 01 ff", "0a 01 7f"},
		{"uint64 max", field.Uint64, u(math.MaxUint64), "0a 01 ff", "0a 01 7f"},
		{"int32 64", field.Int32, i(64), "0a 01 40", "0a 02 80 40"},
		{"int32 127", field.Int32, i(127), "0a 01 7f", "0a 02 80 7f"},
		{"int32 -65", field.Int32, i(-65), "0a 01 bf", "0a 02 ff 3f"},
		{"int32 -128", field.Int32, i(-128), "0a 01 80", "0a 02 ff 00"},
		{"int32 -129", field.Int32, i(-129), "0a 02 ff 7f", "0a 02 fe 7f"},
		{"int32 128", field.Int32, i(128), "0a 02 00 80", "0a 02 81 00"},
		{"uint32 128", field.Uint32, u(128), "0a 02 00 80", "0a 02 81 00"},
		{"int32 255", field.Int32, i(255), "0a 02 00 ff", "0a 02 81 7f"},
		{"int32 511", field.Int32, i(511), "0a 02 01 ff", "0a 02 83 7f"},
		{"int32 max", field.Int32, i(math.MaxInt32), "0a 04 7f ff ff ff", "0a 05 87 ff ff ff 7f"},
		{"int32 min", field.Int32, i(math.MinInt32), "0a 04 80 00 00 00", "0a 05 f8 80 80 80 00"},
		{"int64 max", field.Int64, i(math.MaxInt64), "0a 08 7f ff ff ff ff ff ff ff", "0a 0a 80 ff ff ff ff ff ff ff ff 7f"},
		{"int64 min", field.Int64, i(math.MinInt64), "0a 08 80 00 00 00 00 00 00 00", "0a 0a ff 80 80 80 80 80 80 80 80 00"},
		{"uint64 2^63", field.Uint64, u(1 << 63), "0a 08 80 00 00 00 00 00 00 00", "0a 0a ff 80 80 80 80 80 80 80 80 00"},
		{"uint32 2^31", field.Uint32, u(1 << 31), "0a 04 80 00 00 00", "0a 05 f8 80 80 80 00"},
		{"float32 0", field.Float32, f(0), "0a 01 00", ""},
		{"float32 0.25", field.Float32, f(0.25), "0a 02 3e 80", ""},
		{"float32 2", field.Float32, f(2), "0a 01 40", ""},
		{"float32 68.123", field.Float32, f(float64(float32(68.123))), "0a 04 42 88 3e fa", ""},
		{"float32 1025.5", field.Float32, f(1025.5), "0a 03 44 80 30", ""},
		{"float32 -Inf", field.Float32, f(math.Inf(-1)), "0a 02 ff 80", ""},
		{"float64 23", field.Float64, f(23), "0a 02 40 37", ""},
		{"float64 2", field.Float64, f(2), "0a 01 40", ""},
		{"float64 0.1", field.Float64, f(0.1), "0a 08 3f b9 99 99 99 99 99 9a", ""},
		{"float64 1025.5", field.Float64, f(1025.5), "0a 03 40 90 06", ""},
		{"float64 NaN", field.Float64, f(math.NaN()), "0a 08 7f f8 00 00 00 00 00 01", ""},
		{"true", field.Boolean, b(true), "0a 01 01", ""},
		{"false", field.Boolean, b(false), "0a 01 00", ""},
		{"text", field.String, s("CELLA"), "0a 05 43 45 4c 4c 41", ""},
		{"empty text", field.String, s(""), "0a 00", ""},
	}
	for _, test := range tests {
		for _, d := range []Dialect{P, N} {
			form := Format{Dialect: d}
			t.Run(test.name+"/"+form.Name(), func(t *testing.T) {
				want := unhex(t, test.n)
				if d == P && test.p != "" {
					want = unhex(t, test.p)
				}
				if got := build(t, d, test.as, test.v); !bytes.Equal(got, want) {
					t.Errorf("Builder: got % x, want % x", got, want)
				}
				cast, err := form.Cast(test.v, test.as)
				if err != nil || !bytes.Equal(cast.Bytes, want[2:]) {
					t.Errorf("Cast: got % x, %v, want % x", cast.Bytes, err, want[2:])
				}
				span, err := form.Lookup(want, field.MustParse("0x0a"))
				if err != nil {
					t.Fatal(err)
				}
				got, err := form.Value(want, span, test.as)
				same := got.Float == test.v.Float || math.IsNaN(got.Float) && math.IsNaN(test.v.Float)
				if err != nil || got.Kind != test.v.Kind || got.Int != test.v.Int || got.Unsigned != test.v.Unsigned ||
					got.Bool != test.v.Bool || !same || !bytes.Equal(got.Bytes, test.v.Bytes) {
					t.Errorf("Value: got %+v, %v, want %+v", got, err, test.v)
				}
			})
		}
	}
}

func build(t *testing.T, d Dialect, as field.Type, v field.Value) []byte {
	t.Helper()
	const key = 0x0a
	b := NewBuilder(d)
	switch as {
	case field.Int32:
		b.Int32(key, int32(v.Int))
	case field.Uint32:
		b.Uint32(key, uint32(v.Int))
	case field.Int64:
		b.Int64(key, v.Int)
	case field.Uint64:
		b.Uint64(key, uint64(v.Int))
	case field.Float32:
		b.Float32(key, float32(v.Float))
	case field.Float64:
		b.Float64(key, v.Float)
	case field.Boolean:
		b.Bool(key, v.Bool)
	case field.String:
		b.String(key, string(v.Bytes))
	}
	data, err := b.Message()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestLengths(t *testing.T) {
	t.Parallel()
	tests := []struct {
		n    int
		head string
	}{
		{63, "0a 3f"}, {64, "0a 80 40"}, {8191, "0a bf 7f"}, {8192, "0a 80 c0 00"}, {1048576, "0a 80 c0 80 00"},
	}
	for _, test := range tests {
		b := NewBuilder(P)
		b.Bytes(0x0a, make([]byte, test.n))
		got, err := b.Message()
		if want := unhex(t, test.head); err != nil || !bytes.HasPrefix(got, want) || len(got) != len(want)+test.n {
			t.Errorf("%d bytes: got % x of %d, %v, want % x", test.n, got[:6], len(got), err, want)
		}
		b = NewBuilder(P)
		b.Node(0x0a)
		b.Bytes(0x01, make([]byte, test.n-1-lengthSize(test.n-3)))
		b.End()
		got, err = b.Message()
		want := unhex(t, test.head)
		want[0] |= nodeFlag
		if err != nil || !bytes.HasPrefix(got, want) || Format.Validate(Format{}, got, format.Options{}) != nil {
			t.Errorf("node of %d bytes: got % x, %v, want % x", test.n, got[:6], err, want)
		}
	}
}

func TestWrongType(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data string
		as         field.Type
	}{
		{"nine bytes as int32", "0a 09 81 82 83 84 85 86 87 88 09", field.Int32},
		{"eleven bytes as int64", "0a 0b 80 80 80 80 80 80 80 80 80 80 01", field.Int64},
		{"70 bits as int64", "0a 0a 81 80 80 80 80 80 80 80 80 01", field.Int64},
		{"int64 as int32", "0a 05 88 80 80 80 00", field.Int32},
		{"int64 as uint32", "0a 05 90 80 80 80 00", field.Uint32},
		{"integer without its end", "0a 01 80", field.Int32},
		{"integer and more", "0a 02 01 01", field.Int32},
		{"nothing as int32", "0a 00", field.Int32},
		{"nothing as float64", "0a 00", field.Float64},
		{"five bytes as float32", "0a 05 01 02 03 04 05", field.Float32},
		{"nine bytes as float64", "0a 09 01 02 03 04 05 06 07 08 09", field.Float64},
		{"two as bool", "0a 01 02", field.Boolean},
		{"nothing as bool", "0a 00", field.Boolean},
		{"bytes as text", "0a 01 ff", field.String},
		{"node as int32", "8a 03 01 01 01", field.Int32},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := unhex(t, test.data)
			span, err := Format{}.Lookup(data, field.MustParse("0x0a"))
			if err != nil {
				t.Fatal(err)
			}
			var mismatch *format.TypeError
			if v, err := (Format{}).Value(data, span, test.as); !errors.As(err, &mismatch) {
				t.Errorf("got %+v, %v, want *format.TypeError", v, err)
			}
		})
	}
}

// regressions are inputs for which other decoders panic, read too far, or return wrong values.
var regressions = []struct {
	name string
	data []byte
	path string
	want error // error of Lookup; nil means *format.SyntaxError
}{
	{"truncated slice", []byte{0xc0, 0x06}, "0x00.0", io.ErrUnexpectedEOF},
	{"negative length", []byte{0x01, 0x7f}, "0x01", nil},
	{"negative length of a node", []byte{0x81, 0x7f}, "0x01", nil},
	{"nothing", []byte{}, "0x01", field.ErrNotFound},
	{"a tag alone", []byte{0x01}, "0x01", io.ErrUnexpectedEOF},
	{"length cut short", []byte{0x01, 0x80}, "0x01", io.ErrUnexpectedEOF},
	{"length 128 of 0", []byte{0x30, 0x81, 0x00}, "0x30", io.ErrUnexpectedEOF},
	{"a claim of 2 GiB", []byte{0x01, 0x87, 0xb1, 0x80, 0x81, 0x00}, "0x01", io.ErrUnexpectedEOF},
	{"a claim of 2 GiB on the way", []byte{0x01, 0x87, 0xb1, 0x80, 0x81, 0x00}, "0x02", io.ErrUnexpectedEOF},
	{"a child longer than its node, at the end", []byte{0x81, 0x03, 0x82, 0x05, 0x00}, "0x01.0x02", io.ErrUnexpectedEOF},
	{"a child longer than its node", []byte{0x81, 0x03, 0x82, 0x05, 0x00, 0x02, 0x01, 0x01, 0x01, 0x01}, "0x01.0x02", nil},
	{"a YoMo handshake", []byte{0xb1, 0x04, 0x82, 0x80, 0x7f, 0x00}, "0x31.0x02", io.ErrUnexpectedEOF},
	{"a value that looks like a packet", []byte{0x80, 0x05, 0x01, 0x03, 0x20, 0x01, 0x41}, "0x20", field.ErrNotFound},
	{"a value that looks like a packet, below", []byte{0x80, 0x05, 0x01, 0x03, 0x20, 0x01, 0x41}, "0x00.0x20", field.ErrNotFound},
	{"a step into a primitive", []byte{0x01, 0x03, 0x20, 0x01, 0x41}, "0x01.0x20", field.ErrNotFound},
	{"endless length", bytes.Repeat([]byte{0x80}, 100), "0x00", nil},
	{"a length of 33 bits", []byte{0x01, 0x90, 0x80, 0x80, 0x80, 0x00}, "0x01", nil},
}

func TestRegressions(t *testing.T) {
	t.Parallel()
	for _, test := range regressions {
		t.Run(test.name, func(t *testing.T) {
			for _, d := range []Dialect{P, N} {
				behind := append(bytes.Clone(test.data), "SECRET"...) // SECRET is inside the capacity, but not inside the length
				data := behind[:len(test.data)]
				span, err := Format{Dialect: d}.Lookup(data, field.MustParse(test.path))
				var syntax *format.SyntaxError
				if test.want != nil && !errors.Is(err, test.want) || test.want == nil && !errors.As(err, &syntax) {
					t.Errorf("%v: got %+v, %v, want %v", d, span, err, test.want)
				}
				formattest.Check(t, Format{Dialect: d}, data)
			}
		})
	}
}

func TestLongLengthIsRead(t *testing.T) {
	t.Parallel()
	data := []byte{0x02, 0x80, 0x80, 0x01, 0x41, 0x01, 0x80, 0x80, 0x80, 0x80, 0x01, 0x42}
	span, err := Format{}.Lookup(data, field.MustParse("0x01"))
	if want := (field.Span{Head: 5, Off: 11, End: 12, Kind: field.Untyped}); err != nil || span != want {
		t.Errorf("got %+v, %v, want %+v", span, err, want)
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	nest := func(n int) []byte {
		b := NewBuilder(P)
		for range n {
			b.Node(1)
		}
		for range n {
			b.End()
		}
		data, err := b.Message()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	tests := []struct {
		nodes, max int
		ok         bool
	}{{32, 0, true}, {33, 0, false}, {2, 2, true}, {3, 2, false}, {256, 1000, true}, {257, 1000, false}}
	for _, test := range tests {
		var syntax *format.SyntaxError
		err := Format{}.Validate(nest(test.nodes), format.Options{MaxDepth: test.max})
		if (err == nil) != test.ok || err != nil && !errors.As(err, &syntax) {
			t.Errorf("%d nodes, MaxDepth %d: got %v, want ok %v", test.nodes, test.max, err, test.ok)
		}
	}
	if err := (Format{}).Walk(nest(100000), func(field.Step, int, field.Span) error { return nil }); err == nil {
		t.Error("Walk of 100000 nested nodes gave no error")
	}
}

func TestBuilderErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		d     Dialect
		build func(b *Builder)
		want  string
	}{
		{"key", P, func(b *Builder) { b.Bool(0x40, true) }, "key 0x40"},
		{"negative key", P, func(b *Builder) { b.Bool(-1, true) }, "key 0x-1"},
		{"no End", P, func(b *Builder) { b.Node(1) }, "still open"},
		{"no Node", P, func(b *Builder) { b.End() }, "End without Node"},
		{"slice in N", N, func(b *Builder) { b.Slice(1); b.End() }, "dialect N"},
	}
	for _, test := range tests {
		b := AppendBuilder(test.d, []byte("dst"))
		test.build(b)
		if data, err := b.Message(); err == nil || !strings.Contains(err.Error(), test.want) || string(data) != "dst" {
			t.Errorf("%s: got % x, %v, want dst as it was and an error with %q", test.name, data, err, test.want)
		}
	}
}

func TestCastErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		v  field.Value
		as field.Type
	}{
		{field.Value{Kind: field.Int, Int: math.MaxInt32 + 1}, field.Int32},
		{field.Value{Kind: field.Int, Int: -1}, field.Uint32},
		{field.Value{Kind: field.Int, Int: -1}, field.Uint64},
		{field.Value{Kind: field.Int, Int: -1, Unsigned: true}, field.Int64},
		{field.Value{Kind: field.Text, Bytes: []byte("1")}, field.Int32},
		{field.Value{Kind: field.Float, Float: 1}, field.Int32},
		{field.Value{Kind: field.Int, Int: 1}, field.Boolean},
		{field.Value{Kind: field.Float, Float: 1}, field.AnyType},
		{field.Value{Kind: field.Null}, field.String},
	}
	for _, test := range tests {
		var mismatch *format.TypeError
		if v, err := (Format{}).Cast(test.v, test.as); !errors.As(err, &mismatch) {
			t.Errorf("Cast(%+v, %v): got % x, %v, want *format.TypeError", test.v, test.as, v.Bytes, err)
		}
	}
	if got, err := (Format{}).Cast(field.Value{Kind: field.Int, Int: -1, Unsigned: true}, field.Float64); err != nil || got.Bytes[0] != 0x43 {
		t.Errorf("Cast of 2^64-1 to float64: got % x, %v", got.Bytes, err)
	}
}
