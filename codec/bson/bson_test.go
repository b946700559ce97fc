package bson_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	driver "go.mongodb.org/mongo-driver/v2/bson"

	"example.com/ferry/codec/bson"
	"example.com/ferry/codec/codectest"
)

type reading struct {
	Name   string         `json:"name"`
	Value  float64        `json:"value"`
	Raw    []byte         `json:"raw,omitempty"`
	Labels map[string]int `json:"labels,omitempty"`
}

type stamped struct {
	ID   driver.ObjectID `bson:"_id"`
	At   time.Time       `json:"at"`
	List []int64
}

func TestContract(t *testing.T) {
	codectest.Run(t, bson.Codec{},
		reading{Name: "noise", Value: 31.5, Raw: []byte{0, 255}, Labels: map[string]int{"hall": 4}},
		stamped{ID: driver.ObjectID{1, 2, 3}, At: time.Date(2026, 11, 20, 13, 0, 0, 500e6, time.UTC), List: []int64{1, -2, 1 << 60}},
		map[string]any{"in": map[string]any{"k": int64(1)}}, map[string]any{"raw": []byte{1}}, map[string]string{"t": "ä"},
	)
}

func TestMarshalErrors(t *testing.T) {
	for _, v := range []any{nil, 1, "text", []int{1}, func() {}, map[string]any{"a\x00b": 1}, map[string]uint64{"a": 1 << 63}} {
		got, err := bson.Codec{}.Append([]byte("dst"), v)
		if err == nil || !strings.HasPrefix(err.Error(), "bson: ") || !strings.Contains(err.Error(), fmt.Sprintf("%T", v)) || string(got) != "dst" {
			t.Errorf("%#v: got % x, %v, want dst as it was and an error of bson that names the type", v, got, err)
		}
	}
}

func TestUnmarshalErrors(t *testing.T) {
	rows := map[string]string{ // hex
		"cut":           "0f000000" + "02" + "6e616d6500",
		"trailing":      "05000000" + "00" + "00",
		"another type":  "13000000" + "02" + "76616c756500" + "03000000" + "686900" + "00",
		"duplicate key": "13000000" + "0a" + "6e616d6500" + "0a" + "6e616d6500" + "0a" + "00" + "00",
		"broken UTF-8":  "11000000" + "02" + "6e616d6500" + "02000000" + "ff00" + "00",
		"1 GiB, empty":  "00000040" + "00",
		"empty":         "",
	}
	for name, text := range rows {
		t.Run(name, func(t *testing.T) {
			data, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			err = bson.Codec{}.Unmarshal(data, new(reading))
			if err == nil || !strings.HasPrefix(err.Error(), "bson: ") || !strings.Contains(err.Error(), "reading") {
				t.Errorf("error = %v, want one of bson that names the type", err)
			}
		})
	}
}

func TestDepth(t *testing.T) {
	nest := func(levels int) []byte {
		doc := driver.D{}
		for range levels - 1 {
			doc = driver.D{{Key: "d", Value: doc}}
		}
		data, err := bson.Codec{}.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var v any
	if err := (bson.Codec{}).Unmarshal(nest(32), &v); err != nil {
		t.Errorf("32 levels: %v", err)
	}
	if err := (bson.Codec{}).Unmarshal(nest(33), &v); err == nil || !strings.Contains(err.Error(), "32 levels") {
		t.Errorf("33 levels: got %v, want an error that names the limit", err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, v := range []any{reading{Name: "noise", Value: 31.5}, map[string]any{"k": []byte{1}, "l": []any{1, "a", nil}}} {
		data, err := bson.Codec{}.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		var v any
		if err := (bson.Codec{}).Unmarshal(data, &v); err != nil {
			return
		}
		if !bytes.Equal(before, data) {
			t.Fatalf("Unmarshal changed its input to % x\n% x", data, before)
		}
		again, err := bson.Codec{}.Marshal(v)
		if err != nil {
			t.Fatalf("the value read cannot be written: %v", err)
		}
		if err := (bson.Codec{}).Unmarshal(again, &v); err != nil {
			t.Fatalf("the encoding cannot be read: % x: %v", again, err)
		}
	})
}

func Example() {
	data, err := bson.Codec{}.Marshal(reading{Name: "noise", Value: 31.5})
	fmt.Printf("% x %v\n", data, err)
	var r reading
	err = bson.Codec{}.Unmarshal(data, &r)
	fmt.Println(r.Value, err)
	// Output:
	// 24 00 00 00 02 6e 61 6d 65 00 06 00 00 00 6e 6f 69 73 65 00 01 76 61 6c 75 65 00 00 00 00 00 00 80 3f 40 00 <nil>
	// 31.5 <nil>
}
