package msgpack_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/codec/codectest"
	"example.com/ferry/codec/msgpack"
)

type reading struct {
	Name   string         `json:"name"`
	Value  float64        `json:"value"`
	Raw    []byte         `json:"raw,omitempty"`
	Labels map[string]int `json:"labels,omitempty"`
	Level  int8           `json:"level" msgpack:"lv,alias:lvl"`
}

type base struct {
	Small uint8 `json:"small"`
}

type nested struct {
	base
	In    *reading        `json:"in"`
	Each  []uint16        `json:"each"`
	Keyed map[int8]string `json:"keyed"`
	When  time.Time       `json:"when"`
}

func TestContract(t *testing.T) {
	codectest.Run(t, msgpack.Codec{},
		reading{Name: "noise", Value: 31.5, Raw: []byte{0, 255}, Labels: map[string]int{"hall": 4}, Level: -128},
		[]int64{1, -2, 1 << 40}, "ä", true, 1e300, uint64(1<<64-1), int64(-1<<63), [2]uint8{1, 255},
		map[string]any{"b": []byte{1}, "in": map[string]any{"t": "x", "n": nil}},
		nested{base: base{Small: 255}, In: &reading{Name: "x"}, Each: []uint16{65535}, Keyed: map[int8]string{-128: "least"}})
}

func TestTime(t *testing.T) {
	want := time.Date(2026, 11, 20, 13, 0, 0, 500, time.UTC)
	data, err := msgpack.Codec{}.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got time.Time
	if err := (msgpack.Codec{}).Unmarshal(data, &got); err != nil || !got.Equal(want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestUnmarshalErrors(t *testing.T) {
	rows := map[string]struct {
		data string // hex
		v    any
	}{
		"cut":                              {"81a46e616d65a56e6f69", new(reading)},
		"trailing":                         {"8000", new(reading)},
		"another type":                     {"81a576616c7565a468696768", new(reading)},
		"duplicate key":                    {"82a46e616d65a161a46e616d65a162", new(reading)},
		"broken UTF-8":                     {"81a46e616d65a1ff", new(reading)},
		"40 levels":                        {"81a3726177" + strings.Repeat("91", 40) + "00", new(reading)},
		"2^32-1 bytes announced":           {"c6ffffffff", new(reading)},
		"2^32-1 elements, no data":         {"ddffffffff", new([]int)},
		"empty":                            {"", new(reading)},
		"128 in an int8":                   {"81a26c76cc80", new(reading)},
		"128 in an int8 by its alias":      {"81a36c766ccc80", new(reading)},
		"128 in an int8 behind a pointer":  {"81a2696e81a26c76cc80", new(nested)},
		"256 in an embedded uint8":         {"81a5736d616c6ccd0100", new(nested)},
		"-1 in a list of uint16":           {"81a46561636892 01ff", new(nested)},
		"128 as a key of int8":             {"81a56b6579656481cc80a161", new(nested)},
		"2^64-1 as a key of int8":          {"81a56b6579656481cfffffffffffffffffa161", new(nested)},
		"2^64-1 in an int64":               {"cfffffffffffffffff", new(int64)},
		"-1 in a uint64":                   {"ff", new(uint64)},
		"1.5 in an int":                    {"ca3fc00000", new(int)},
		"1e300 in a float32":               {"cb7e37e43c8800759c", new(float32)},
		"a list in a struct":               {"95a161cb0000000000000000c0c000", new(reading)},
		"three elements in an array of 2":  {"93010203", new([2]int)},
		"a text in a map of integers":      {"81a16101", new(map[int]int)},
		"an extension in a map":            {"d40581", new(map[string]int)},
		"an extension in a text":           {"d40561", new(string)},
		"an extension of an unknown type":  {"d40561", new(any)},
		"an extension in a time":           {"d40561", new(time.Time)},
		"nothing to decode into":           {"c0", (*reading)(nil)},
		"an integer key in a map of texts": {"810101", new(map[string]int)},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			data, err := hex.DecodeString(strings.ReplaceAll(row.data, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			err = msgpack.Codec{}.Unmarshal(data, row.v)
			if err == nil || !strings.HasPrefix(err.Error(), "msgpack: ") || !strings.Contains(err.Error(), reflect.TypeOf(row.v).String()) {
				t.Errorf("error = %v, want one of msgpack that names %T; read %v", err, row.v, reflect.Indirect(reflect.ValueOf(row.v)))
			}
		})
	}
}

type hidden struct {
	A int `json:"a"`
}

// TestUnsupportedTypes decodes into types that cannot be decoded into.
func TestUnsupportedTypes(t *testing.T) {
	type embeds struct{ *hidden }
	type interns struct {
		S []int `msgpack:"s,intern"`
	}
	for name, v := range map[string]any{"hidden pointer": new(embeds), "interface with methods": new(fmt.Stringer), "interned list": new(interns)} {
		err := msgpack.Codec{}.Unmarshal([]byte("\x81\xa1a\x01"), v)
		if err == nil || !strings.HasPrefix(err.Error(), "msgpack: ") || !strings.Contains(err.Error(), reflect.TypeOf(v).String()) {
			t.Errorf("%s: got %v, want an error that names %T", name, err, v)
		}
	}
	if data, err := (msgpack.Codec{}).Marshal(interns{}); err == nil || data != nil {
		t.Errorf("interned list: got % x, %v, want an error", data, err)
	}
}

// TestLimits decodes the largest and the smallest value of each type.
func TestLimits(t *testing.T) {
	rows := map[string]struct {
		data string // hex
		v    any
		want any
	}{
		"127 in an int8":                   {"7f", new(int8), int8(127)},
		"-128 in an int8":                  {"d080", new(int8), int8(-128)},
		"255 in a uint8":                   {"ccff", new(uint8), uint8(255)},
		"2^64-1 in a uint64":               {"cfffffffffffffffff", new(uint64), uint64(1<<64 - 1)},
		"-2^63 in an int64":                {"d38000000000000000", new(int64), int64(-1 << 63)},
		"a long form":                      {"d30000000000000005", new(int8), int8(5)},
		"an integer in a float":            {"05", new(float64), 5.0},
		"bytes in a text":                  {"c40161", new(string), "a"},
		"an any that holds maps and lists": {"81a16181a16293cd0100c3c0", new(any), map[string]any{"a": map[string]any{"b": []any{uint16(256), true, nil}}}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			data, err := hex.DecodeString(row.data)
			if err != nil {
				t.Fatal(err)
			}
			err = msgpack.Codec{}.Unmarshal(data, row.v)
			if got := reflect.ValueOf(row.v).Elem().Interface(); err != nil || !reflect.DeepEqual(got, row.want) {
				t.Errorf("got %#v, %v, want %#v", got, err, row.want)
			}
		})
	}
}

func TestUnknownFieldsAndCase(t *testing.T) {
	data, err := msgpack.Codec{}.Marshal(map[string]any{"NAME": "shout", "more": []any{1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	var r reading
	if err := (msgpack.Codec{}).Unmarshal(data, &r); err != nil || r.Name != "" {
		t.Errorf("NAME was read as name, or more was refused: %+v, %v", r, err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, v := range []any{reading{Name: "noise", Value: 31.5}, nested{Each: []uint16{1}}, []any{1, "a", nil}, map[string]any{"k": []byte{1}}, time.Unix(1, 2)} {
		data, err := msgpack.Codec{}.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{new(any), new(nested), new(map[int16]uint8), new([]reading)} {
			if err := (msgpack.Codec{}).Unmarshal(data, v); err != nil {
				continue
			}
			again, err := msgpack.Codec{}.Marshal(v)
			if err != nil {
				t.Fatalf("the value read cannot be written: %v", err)
			}
			if err := (msgpack.Codec{}).Unmarshal(again, v); err != nil {
				t.Fatalf("the encoding cannot be read: % x: %v", again, err)
			}
		}
	})
}

func Example() {
	data, err := msgpack.Codec{}.Marshal(map[string]float64{"noise": 31.5})
	fmt.Printf("% x %v\n", data, err)
	var r map[string]float64
	err = msgpack.Codec{}.Unmarshal(data, &r)
	fmt.Println(r["noise"], err)
	// Output:
	// 81 a5 6e 6f 69 73 65 cb 40 3f 80 00 00 00 00 00 <nil>
	// 31.5 <nil>
}

// TestListMemory decodes a list of a million elements of one byte, of which the first is no element of the list. The
// memory must not be that of a million elements.
func TestListMemory(t *testing.T) {
	data := append([]byte{0xdd, 0, 0x10, 0, 0}, bytes.Repeat([]byte{0x01}, 1<<20)...)
	var list []struct{ Large [64]uint64 }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := (msgpack.Codec{}).Unmarshal(data, &list); err == nil {
		t.Error("integers are decoded into structs")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d KiB are allocated for %d KiB of input that is refused at its first element", n>>10, len(data)>>10)
	}
	for _, n := range []int{0, 1, 300, 5000, 70000} {
		want := make([]int32, n)
		for i := range want {
			want[i] = int32(i)
		}
		data, err := msgpack.Codec{}.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got []int32
		if err := (msgpack.Codec{}).Unmarshal(data, &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d elements: got %d, %v", n, len(got), err)
		}
	}
}
