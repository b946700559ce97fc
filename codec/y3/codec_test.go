package y3

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strings"
	"testing"

	"example.com/ferry/codec/codectest"
	"example.com/ferry/format/y3"
)

type sample struct {
	Noise float32 `y3:"0x11"`
	Time  int64   `y3:"0x12"`
	From  string  `y3:"0x13"`
}

type nested struct {
	List  []int32 `y3:"0x11"`
	Inner struct {
		On bool `y3:"0x15"`
	} `y3:"0x14"`
}

type wide struct {
	I8      int8       `y3:"0x10"`
	I16     int16      `y3:"0x11"`
	I32     int32      `y3:"0x12"`
	I64     int64      `y3:"0x13"`
	I       int        `y3:"0x14"`
	U8      uint8      `y3:"0x15"`
	U16     uint16     `y3:"0x16"`
	U32     uint32     `y3:"0x17"`
	U64     uint64     `y3:"0x18"`
	U       uint       `y3:"0x19"`
	F32     float32    `y3:"0x1a"`
	F64     float64    `y3:"0x1b"`
	S       string     `y3:"0x1c"`
	B       []byte     `y3:"0x1d"`
	On      bool       `y3:"0x1e"`
	P       *sample    `y3:"0x1f"`
	None    *int32     `y3:"0x20"`
	Ignored chan int   // without a tag
	Skipped func()     `y3:"-"`
	Deep    [][]string `y3:"0x21"`
	Many    []*sample  `y3:"0x22"`
	Empty   []int64    `y3:"0x23"`
	Nil     []int64    `y3:"0x24"`
}

func newWide() wide {
	return wide{
		I8: math.MinInt8, I16: math.MaxInt16, I32: math.MinInt32, I64: math.MaxInt64, I: -65, U8: 255, U16: 65535,
		U32: math.MaxUint32, U64: math.MaxUint64, U: 1 << (bits.UintSize - 1), F32: 0.1, F64: math.Pi, S: "é", B: []byte{0, 255}, On: true,
		P: &sample{Noise: 1.5, From: strings.Repeat("x", 9000)}, Deep: [][]string{{"a", ""}, {}}, Empty: []int64{},
		Many: []*sample{{Time: 1}, {Time: 2}},
	}
}

func TestContract(t *testing.T) {
	codectest.Run(t, Codec{}, sample{1.5, 1600000000, "s"}, newWide(), int32(-1), "text", []byte("raw"), true, 2.5,
		[]string{"a", "bc"}, []sample{{1, 2, "3"}, {4, 5, "6"}}, []sample{}, uint64(math.MaxUint64))
	codectest.Run(t, Codec{Dialect: y3.N, Observe: 0x3f}, sample{1.5, 1600000000, "s"}, int64(-300))
}

// TestVectors compares Marshal with the output of y3-codec-golang v1.7.3.
func TestVectors(t *testing.T) {
	t.Parallel()
	inner := nested{List: []int32{5, -5}}
	inner.Inner.On = true
	tests := []struct {
		v    any
		want string
	}{
		{[]string{"a", "bc"}, "81 09 d0 07 00 01 61 00 02 62 63"},
		{sample{1.5, 1600000000, "s"}, "81 10 90 0e 11 02 3f c0 12 05 85 fa f8 a0 00 13 01 73"},
		{&sample{1.5, 1600000000, "s"}, "81 10 90 0e 11 02 3f c0 12 05 85 fa f8 a0 00 13 01 73"},
		{[]sample{{1.5, 1, "s"}, {2, 2, "t"}}, "81 19 90 17 80 0a 11 02 3f c0 12 01 01 13 01 73 80 09 11 01 40 12 01 02 13 01 74"},
		{inner, "81 0f 90 0d d1 06 00 01 05 00 01 7b 94 03 15 01 01"},
	}
	for _, test := range tests {
		got, err := Codec{}.Marshal(test.v)
		if s := fmt.Sprintf("% x", got); err != nil || s != test.want {
			t.Errorf("%+v: got %s, %v, want %s", test.v, s, err, test.want)
		}
		back := reflect.New(indirect(reflect.ValueOf(test.v)).Type())
		if err := (Codec{}).Unmarshal(got, back.Interface()); err != nil {
			t.Errorf("%s: %v", test.want, err)
		}
	}
}

type ring struct {
	Next *ring `y3:"0x10"`
}

func TestMarshalErrors(t *testing.T) {
	t.Parallel()
	r := &ring{}
	r.Next = r
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"nil", nil, "it is nil"},
		{"nil pointer", (*sample)(nil), "it is nil"},
		{"map", map[string]int{}, "cannot write map[string]int"},
		{"array", [2]int{}, "cannot write [2]int"},
		{"no tags", struct{ A int }{}, "has no field with a tag"},
		{"bad key", struct {
			A int `y3:"0x40"`
		}{}, "want a key from 0x01 to 0x3f"},
		{"key of items", struct {
			A int `y3:"0x00"`
		}{}, "want a key from 0x01 to 0x3f"},
		{"no key", struct {
			A int `y3:"a"`
		}{}, "want a key"},
		{"not exported", struct {
			a int `y3:"0x10"`
		}{}, "not exported"},
		{"same key", struct {
			A int `y3:"0x10"`
			B int `y3:"16"`
		}{}, "A and B"},
		{"field", struct {
			A chan int `y3:"0x10"`
		}{make(chan int)}, "cannot write chan int, in field"},
		{"nil item", []*sample{nil}, "item 0"},
		{"text", "\xff", "not UTF-8"},
		{"ring", r, "deeper than 32"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, err := (Codec{}).Append([]byte("dst"), test.v); err == nil || !strings.Contains(err.Error(), test.want) || string(got) != "dst" {
				t.Errorf("got %q, %v, want dst as it was and an error with %q", got, err, test.want)
			}
		})
	}
	if _, err := (Codec{Dialect: y3.N}).Marshal([]int32{1}); err == nil {
		t.Error("a slice in dialect N was accepted")
	}
	if _, err := (Codec{Observe: 0x40}).Marshal(1); err == nil {
		t.Error("Observe 0x40 was accepted")
	}
}

func TestUnmarshalErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data, want string
		into             any
	}{
		{"no root", "10 01 01", "nothing at 0x01.0x10", new(int32)},
		{"other key", "81 03 11 01 01", "nothing at 0x01.0x10", new(int32)},
		{"cut short", "81 05 10 01", "unexpected EOF", new(int32)},
		{"primitive into struct", "81 03 10 01 01", "cannot be read into y3.sample", new(sample)},
		{"primitive into slice", "81 03 10 01 01", "cannot be read into []int32", new([]int32)},
		{"struct into int", "81 05 90 03 11 01 01", "cannot use map as int32", new(int32)},
		{"struct into slice", "81 05 90 03 11 01 01", "map at offset 2 cannot be read into []int32", new([]int32)},
		{"slice into struct", "81 05 d0 03 00 01 01", "list at offset 2 cannot be read into y3.sample", new(sample)},
		{"too wide", "81 04 10 02 81 00", "128 is out of range of int8", new(int8)},
		{"too wide, unsigned", "81 04 10 02 82 00", "256 is out of range of uint8", new(uint8)},
		{"nine bytes for an integer", "81 0b 10 09 81 82 83 84 85 86 87 88 09", "cannot use untyped bytes as int32", new(int32)},
		{"wrong field", "81 06 90 04 12 02 80 80", "in field y3.sample.Time", new(sample)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data, err := hex.DecodeString(strings.ReplaceAll(test.data, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			err = Codec{}.Unmarshal(data, test.into)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestUnknownFieldsAndDefaults(t *testing.T) {
	t.Parallel()
	v := sample{Noise: 7, From: "before"}
	data := []byte{0x81, 0x08, 0x90, 0x06, 0x12, 0x01, 0x05, 0x3f, 0x01, 0x09}
	if err := (Codec{}).Unmarshal(data, &v); err != nil || v != (sample{7, 5, "before"}) {
		t.Errorf("got %+v, %v", v, err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, v := range []any{sample{1.5, 2, "s"}, newWide(), []sample{{1, 2, "3"}}} {
		data, err := Codec{}.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v wide
		if (Codec{}).Unmarshal(data, &v) != nil {
			return
		}
		first, err := Codec{}.Marshal(v)
		if err != nil {
			t.Fatalf("Marshal of what Unmarshal read: %v\n% x", err, data)
		}
		var again wide
		if err := (Codec{}).Unmarshal(first, &again); err != nil {
			t.Fatalf("%v\n% x", err, first)
		}
		second, err := Codec{}.Marshal(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("there and back: % x, %v, want % x", second, err, first)
		}
	})
}
