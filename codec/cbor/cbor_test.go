package cbor_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/ferry/codec/cbor"
	"example.com/ferry/codec/codectest"
)

type reading struct {
	Name   string         `json:"name"`
	Value  float64        `json:"value"`
	Raw    []byte         `json:"raw,omitempty"`
	Labels map[string]int `json:"labels,omitempty"`
}

// TestContract uses maps with one key only, because the order of keys in an encoded map is random.
func TestContract(t *testing.T) {
	codectest.Run(t, cbor.Codec{},
		reading{Name: "noise", Value: 31.5, Raw: []byte{0, 255}, Labels: map[string]int{"hall": 4}},
		[]int{1, -2, 3}, "ä", true, 1e300, map[string]any{"k": uint64(1)}, map[string]any{"in": map[string]any{"t": "x"}},
		time.Date(2026, 11, 20, 13, 0, 0, 500, time.UTC))
}

func TestUnmarshalErrors(t *testing.T) {
	rows := map[string]string{ // hex
		"cut":                    "a1646e616d65656e6f69",
		"trailing":               "a0" + "00",
		"another type":           "a16576616c75656468696768",
		"duplicate key":          "a2" + "646e616d656161" + "646e616d656162",
		"broken UTF-8":           "a1646e616d6561ff",
		"33 levels":              "a163526177" + strings.Repeat("81", 40) + "00",
		"2^63 bytes announced":   "5b7fffffffffffffff",
		"2^31 elements, no data": "9a80000000",
		"empty":                  "",
	}
	for name, text := range rows {
		t.Run(name, func(t *testing.T) {
			data, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			err = cbor.Codec{}.Unmarshal(data, new(reading))
			if err == nil || !strings.HasPrefix(err.Error(), "cbor: ") || !strings.Contains(err.Error(), "reading") {
				t.Errorf("error = %v, want one of cbor that names the type", err)
			}
		})
	}
}

// TestYearsOutsideRFC3339 decodes times in seconds since 1970. In this form CBOR can write any year.
func TestYearsOutsideRFC3339(t *testing.T) {
	for _, text := range []string{"c11b0003800000000000", "c13b0003800000000000"} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []any{new(any), new(time.Time)} {
			if err := (cbor.Codec{}).Unmarshal(data, v); err == nil {
				t.Errorf("%s was read into %T, and could not be written again", text, v)
			}
		}
	}
}

func TestLongArray(t *testing.T) {
	data, err := cbor.Codec{}.Marshal(make([]bool, 200_000))
	if err != nil {
		t.Fatal(err)
	}
	var got []bool
	if err := (cbor.Codec{}).Unmarshal(data, &got); err != nil || len(got) != 200_000 {
		t.Errorf("%d elements, %v, want 200000", len(got), err)
	}
}

func TestKeysMatchInCase(t *testing.T) {
	data, err := cbor.Codec{}.Marshal(map[string]string{"NAME": "shout"})
	if err != nil {
		t.Fatal(err)
	}
	var r reading
	if err := (cbor.Codec{}).Unmarshal(data, &r); err != nil || r.Name != "" {
		t.Errorf("NAME was read as name: %+v, %v", r, err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, v := range []any{reading{Name: "noise", Value: 31.5}, []any{1, "a", nil}, map[string]any{"k": []byte{1}}} {
		data, err := cbor.Codec{}.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if err := (cbor.Codec{}).Unmarshal(data, &v); err != nil {
			return
		}
		again, err := cbor.Codec{}.Marshal(v)
		if err != nil {
			t.Fatalf("the value read cannot be written: %v", err)
		}
		if err := (cbor.Codec{}).Unmarshal(again, &v); err != nil {
			t.Fatalf("the encoding cannot be read: % x: %v", again, err)
		}
	})
}

func Example() {
	data, err := cbor.Codec{}.Marshal(reading{Name: "noise", Value: 31.5})
	fmt.Printf("% x %v\n", data, err)
	var r reading
	err = cbor.Codec{}.Unmarshal(data, &r)
	fmt.Println(r.Value, err)
	// Output:
	// a2 64 6e 61 6d 65 65 6e 6f 69 73 65 65 76 61 6c 75 65 fb 40 3f 80 00 00 00 00 00 <nil>
	// 31.5 <nil>
}
