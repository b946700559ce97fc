package codec_test

import (
	"strings"
	"testing"

	"example.com/ferry/codec"
	"example.com/ferry/codec/bson"
	"example.com/ferry/codec/cbor"
	"example.com/ferry/codec/json"
	"example.com/ferry/codec/msgpack"
)

type wide struct {
	N     int64             `json:"n"`
	List  []uint64          `json:"list"`
	Map   map[string]uint64 `json:"map"`
	Inner struct {
		Value int64 `json:"value"`
	} `json:"inner"`
}

type narrow struct {
	N     float64            `json:"n"`
	List  []float64          `json:"list"`
	Map   map[string]float64 `json:"map"`
	Inner *struct {
		Value float64 `json:"value"`
	} `json:"inner"`
}

// TestFloatsAreNotRounded decodes integers into floats. One that the float cannot hold is an error that names it.
func TestFloatsAreNotRounded(t *testing.T) {
	t.Parallel()
	const odd = 1<<53 + 1
	good := wide{N: 1 << 53, List: []uint64{1 << 62}, Map: map[string]uint64{"k": 7}}
	for _, c := range []codec.Codec{json.Codec{}, cbor.Codec{}, bson.Codec{}, msgpack.Codec{}} {
		for name, change := range map[string]func(*wide){
			"":            func(*wide) {},
			"n":           func(w *wide) { w.N = -odd },
			"list.1":      func(w *wide) { w.List = []uint64{0, odd} },
			"map.k":       func(w *wide) { w.Map = map[string]uint64{"k": odd} },
			"inner.value": func(w *wide) { w.Inner.Value = 1<<63 - 1 },
		} {
			w := good
			change(&w)
			data, err := c.Marshal(w)
			if err != nil {
				t.Fatal(err)
			}
			var got narrow
			err = c.Unmarshal(data, &got)
			if (err == nil) != (name == "") {
				t.Errorf("%s, %q: got %+v, %v", c.Name(), name, got, err)
			}
			if err != nil && !strings.Contains(err.Error(), "is no float64") {
				t.Errorf("%s, %q: got %v, want the number and the type", c.Name(), name, err)
			}
			var loose map[string]any
			if err := c.Unmarshal(data, &loose); err != nil {
				t.Errorf("%s, %q into any: %v", c.Name(), name, err)
			}
			var same wide
			if err := c.Unmarshal(data, &same); err != nil {
				t.Errorf("%s, %q into integers: %v", c.Name(), name, err)
			}
		}
	}
}

func TestFloat32IsNotRounded(t *testing.T) {
	t.Parallel()
	type in struct {
		F float64 `json:"f"`
	}
	type out struct {
		F float32 `json:"f"`
	}
	for _, c := range []codec.Codec{cbor.Codec{}, bson.Codec{}, msgpack.Codec{}, json.Codec{}} {
		for f, ok := range map[float64]bool{0.5: true, 0.1: c.Name() == "json", 1 << 24: true, 1<<24 + 1: false} {
			data, err := c.Marshal(in{f})
			if err != nil {
				t.Fatal(err)
			}
			var got out
			if err := c.Unmarshal(data, &got); (err == nil) != ok {
				t.Errorf("%s: %v into a float32: got %v, %v", c.Name(), f, got, err)
			}
		}
	}
}

func TestJSONFloats(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"9007199254740993": false, "9007199254740992": true, "9007199254740993.0": false, "0.12345678901234567890": true,
		"18446744073709551616": true, "18446744073709551617": false, "123456789012345678901234567890": false, "1e22": true,
		"1763852400000000001": false,
	} {
		var f float64
		if err := (json.Codec{}).Unmarshal([]byte(text), &f); (err == nil) != ok {
			t.Errorf("%s: got %v, %v", text, f, err)
		}
		var n struct{ A, b float64 }
		if err := (json.Codec{}).Unmarshal([]byte(`{"b":`+text+`,"other":[`+text+`],"a":`+text+`}`), &n); (err == nil) != ok {
			t.Errorf("%s in a struct, with the name in another case: got %+v, %v", text, n, err)
		}
		if err := (json.Codec{}).Unmarshal([]byte(`{"b":`+text+`,"other":[`+text+`]}`), &n); err != nil {
			t.Errorf("%s for a field that the struct has not: %v", text, err)
		}
	}
}
