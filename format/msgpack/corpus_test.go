package msgpack

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// testSuite is groups of values. Each value is listed with all of its encodings. See testdata/README.md.
//
//go:embed testdata/msgpack-test-suite.json
var testSuite []byte

func TestMessagePackTestSuite(t *testing.T) {
	t.Parallel()
	var groups map[string][]map[string]any
	d := json.NewDecoder(bytes.NewReader(testSuite))
	d.UseNumber()
	if err := d.Decode(&groups); err != nil {
		t.Fatal(err)
	}
	encodings := 0
	for name, cases := range groups {
		t.Run(name, func(t *testing.T) {
			for _, c := range cases {
				for _, digits := range c["msgpack"].([]any) {
					encodings++
					data := unhex(t, digits)
					if err := (Format{}).Validate(data, format.Options{}); err != nil {
						t.Errorf("%s: %v", digits, err)
					}
					if !represents(t, data, c) {
						t.Errorf("%s is not read as %v", digits, c)
					}
				}
			}
		})
	}
	if encodings != 233 {
		t.Errorf("%d encodings, want all 233", encodings)
	}
}

// represents reports whether data encodes the value of the case c. If few JSON readers can hold
// its number, the case also has a bignum, which is the exact value.
func represents(t *testing.T, data []byte, c map[string]any) bool {
	t.Helper()
	for kind, want := range c {
		switch kind {
		case "bignum":
			want = json.Number(want.(string))
		case "binary", "ext", "timestamp":
			return equalBytes(t, data, kind, want)
		case "msgpack", "number":
			if _, big := c["bignum"]; big || kind == "msgpack" {
				continue
			}
		}
		return equal(t, data, want)
	}
	return false
}

// equalBytes compares a value that JSON cannot express with its description in the test suite. A binary is hex digits.
// An extension is its type and hex digits. A timestamp is seconds and nanoseconds.
func equalBytes(t *testing.T, data []byte, kind string, want any) bool {
	t.Helper()
	s, err := Format{}.Lookup(data, field.Path{})
	if err != nil {
		t.Fatal(err)
	}
	content := data[s.Off:s.End]
	switch kind {
	case "binary":
		return s.Kind == field.Bytes && bytes.Equal(content, unhex(t, want))
	case "ext":
		pair := want.([]any)
		typ, err := pair[0].(json.Number).Int64()
		return err == nil && s.Kind == field.Extension && data[s.Off-1] == byte(typ) && bytes.Equal(content, unhex(t, pair[1]))
	}
	return s.Kind == field.Extension && data[s.Off-1] == timestampType
}

// equal reports whether the value in data equals want, a value from JSON. It compares the content of containers, too.
func equal(t *testing.T, data []byte, want any) bool {
	t.Helper()
	s, err := Format{}.Lookup(data, field.Path{})
	if err != nil {
		t.Fatal(err)
	}
	part := func(name string) []byte {
		s, err := Format{}.Lookup(data, field.MustParse(name))
		if err != nil {
			t.Fatalf("%s in % x: %v", name, data, err)
		}
		return data[s.Head:s.End]
	}
	switch want := want.(type) {
	case []any:
		for i, item := range want {
			if !equal(t, part(strconv.Itoa(i)), item) {
				return false
			}
		}
		return s.Kind == field.List && children(t, data) == len(want)
	case map[string]any:
		for name, item := range want {
			if !equal(t, part(name), item) {
				return false
			}
		}
		return s.Kind == field.Map && children(t, data) == len(want)
	}
	v, err := Format{}.Value(data, s, field.AnyType)
	if err != nil {
		t.Fatal(err)
	}
	switch want := want.(type) {
	case nil:
		return v.Kind == field.Null
	case bool:
		return v.Kind == field.Bool && v.Bool == want
	case string:
		return v.Kind == field.Text && string(v.Bytes) == want
	case json.Number:
		if v.Kind == field.Float {
			f, err := want.Float64()
			return err == nil && v.Float == f
		}
		return v.Kind == field.Int && integer{v.Int, v.Unsigned} == wantInteger(t, want)
	}
	return false
}

func wantInteger(t *testing.T, text json.Number) integer {
	t.Helper()
	n, ok := parseInteger(string(text))
	if !ok {
		t.Fatalf("%s is no integer", text)
	}
	return n
}

// children returns the number of direct children of the outermost container.
func children(t *testing.T, data []byte) int {
	t.Helper()
	n := 0
	if err := (Format{}).Walk(data, func(_ field.Step, depth int, _ field.Span) error {
		if depth == 1 {
			n++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func unhex(t *testing.T, digits any) []byte {
	t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(digits.(string), "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
