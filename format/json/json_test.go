package json

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

func TestLookup(t *testing.T) {
	for _, row := range []struct {
		name, data, path, want string
		kind                   field.Kind
		err                    error
	}{
		{"text", `{"a":"b"}`, "a", "b", field.Text, nil},
		{"text with escapes", `{"a":"b\"\\","c":1}`, "a", `b\"\\`, field.Text, nil},
		{"behind a text that ends in a backslash", `{"a":"b\\","c":1}`, "c", "1", field.Int, nil},
		{"number", `{"a":-12.5e3}`, "a", "-12.5e3", field.Float, nil},
		{"outermost number", ` 12 `, "", "12", field.Int, nil},
		{"container", `{"a":[1,{"b":2}]}`, "a", `1,{"b":2}]`, field.List, nil},
		{"index", `[1,[2,3],"x,]"]`, "2", "x,]", field.Text, nil},
		{"null", `{"a":null}`, "a", "null", field.Null, nil},
		{"escaped name", `{"\u0061\t":true}`, "a\t", "true", field.Bool, nil},
		{"name of a surrogate pair", `{"\ud83d\ude00":1}`, "😀", "1", field.Int, nil},
		{"brackets in a text", `{"a":{"x":"}]"},"b":2}`, "b", "2", field.Int, nil},
		{"digits as a name", `{"5":1}`, "5", "1", field.Int, nil},
		{"first of two", `{"a":1,"a":2}`, "a", "1", field.Int, nil},
		{"absent", `{"a":1}`, "b", "", 0, field.ErrNotFound},
		{"prefix of a name", `{"ab":1}`, "a", "", 0, field.ErrNotFound},
		{"prefix of an escaped name", `{"\u0061b":1}`, "a", "", 0, field.ErrNotFound},
		{"index behind the end", `[1]`, "1", "", 0, field.ErrNotFound},
		{"name in a list", `[1]`, "a", "", 0, field.ErrNotFound},
		{"inside a text", `"abc"`, "a", "", 0, field.ErrNotFound},
		{"nothing", ``, "a", "", 0, io.ErrUnexpectedEOF},
		{"cut in a number", `{"a":12`, "a", "", 0, io.ErrUnexpectedEOF},
		{"cut in a literal", `{"a":tru`, "a", "", 0, io.ErrUnexpectedEOF},
		{"cut in a text", `{"a":"b`, "a", "", 0, io.ErrUnexpectedEOF},
		{"cut behind a backslash", `{"a":"b\`, "a", "", 0, io.ErrUnexpectedEOF},
		{"cut behind a name", `{"a"`, "a", "", 0, io.ErrUnexpectedEOF},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := Format{}.Lookup([]byte(row.data), field.MustParse(row.path))
			if !errors.Is(err, row.err) || s.Kind != row.kind || row.data[s.Off:s.End] != row.want {
				t.Errorf("got %+v, %v, want %q, %v, %v", s, err, row.want, row.kind, row.err)
			}
		})
	}
}

func TestMalformedLookup(t *testing.T) {
	for _, data := range []string{`{a:1}`, `{"a" 1}`, `{"a":x}`, `{"a":truth}`, `{"b":1 "a":2}`, `{"a":]`} {
		var syntax *format.SyntaxError
		if s, err := (Format{}).Lookup([]byte(data), field.MustParse("a")); !errors.As(err, &syntax) {
			t.Errorf("%s: got %+v, %v, want *format.SyntaxError", data, s, err)
		}
	}
}

func TestPatch(t *testing.T) {
	text := func(s string) field.Value { return field.Value{Kind: field.Text, Bytes: []byte(s)} }
	for _, row := range []struct {
		name, data, path string
		v                field.Value
		want             string // empty if the error must be a *format.TypeError
	}{
		{"text", `{"a": "b" }`, "a", text("longer"), `{"a": "longer" }`},
		{"escapes", `{"a":"b"}`, "a", text("\"\\\n\x01é"), `{"a":"\"\\\n\u0001é"}`},
		{"integer by integer", `[1,2]`, "0", field.Value{Kind: field.Int, Int: -300}, `[-300,2]`},
		{"integer by float", `[1,2]`, "1", field.Value{Kind: field.Float, Float: 2.5}, `[1,2.5]`},
		{"whole float", `[1.5]`, "0", field.Value{Kind: field.Float, Float: 2}, `[2.0]`},
		{"large float", `[1.5]`, "0", field.Value{Kind: field.Float, Float: 1e300}, `[1e+300]`},
		{"2^64-1", `[1.5]`, "0", field.Value{Kind: field.Int, Int: -1, Unsigned: true}, `[18446744073709551615]`},
		{"bool", `[true]`, "0", field.Value{Kind: field.Bool}, `[false]`},
		{"null by text", `[null]`, "0", text("x"), `["x"]`},
		{"NaN", `[1.5]`, "0", field.Value{Kind: field.Float, Float: nan()}, ""},
		{"text that is not UTF-8", `["a"]`, "0", text("\xff"), ""},
		{"text by number", `["a"]`, "0", field.Value{Kind: field.Int}, ""},
		{"number by text", `[1]`, "0", text("1"), ""},
		{"list by number", `[[1]]`, "0", field.Value{Kind: field.Int}, ""},
		{"null by bytes", `[null]`, "0", field.Value{Kind: field.Bytes}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Format{}.Patch(nil, []byte(row.data), field.MustParse(row.path), row.v)
			var mismatch *format.TypeError
			if string(got) != row.want || errors.As(err, &mismatch) != (row.want == "") {
				t.Errorf("got %s, %v, want %s", got, err, row.want)
			}
		})
	}
}

func nan() float64 { var zero float64; return zero / zero }

// TestManyNames validates objects of several sizes with a duplicate name at the end.
func TestManyNames(t *testing.T) {
	for _, n := range []int{2, 63, 64, 65, 300, 3000, 100000} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `%c"%d":0`, ",{"[(n-i)/n], 1000000+i)
		}
		body := b.String()
		if err := (Format{}).Validate([]byte(body+"}"), format.Options{}); err != nil {
			t.Fatalf("%d names: %v", n, err)
		}
		for _, again := range []int{0, n / 2, n - 1} {
			var syntax *format.SyntaxError
			err := Format{}.Validate(fmt.Appendf(nil, `%s,"%d":0}`, body, 1000000+again), format.Options{})
			if !errors.As(err, &syntax) || syntax.Offset != len(body)+1 {
				t.Errorf("%d names, number %d again: got %v, want an error at offset %d", n, again, err, len(body)+1)
			}
		}
	}
}

func TestFoldKeys(t *testing.T) {
	data := []byte(`{"deviceName":1,"\u0044evicename":2}`)
	if err := (Format{}).Validate(data, format.Options{}); err != nil {
		t.Error(err)
	}
	if err := (Format{}).Validate(data, format.Options{FoldKeys: true}); err == nil {
		t.Error("names that differ in case were accepted with FoldKeys")
	}
}

func TestTruncated(t *testing.T) {
	for name, event := range edgexEvents(t) {
		for n := range event {
			if err := (Format{}).Validate(event[:n], format.Options{}); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, %d of %d bytes: got %v, want io.ErrUnexpectedEOF", name, n, len(event), err)
			}
		}
	}
}

func TestDepth(t *testing.T) {
	for _, row := range []struct{ levels, max int }{{32, 0}, {5, 5}, {256, 1000}} {
		nested := strings.Repeat("[", row.levels) + strings.Repeat("]", row.levels)
		if err := (Format{}).Validate([]byte(nested), format.Options{MaxDepth: row.max}); err != nil {
			t.Errorf("%d levels, MaxDepth %d: %v", row.levels, row.max, err)
		}
		if err := (Format{}).Validate([]byte("["+nested+"]"), format.Options{MaxDepth: row.max}); err == nil {
			t.Errorf("%d levels, MaxDepth %d: accepted", row.levels+1, row.max)
		}
	}
}

func TestTrailing(t *testing.T) {
	if err := (Format{}).Validate([]byte(`{} {}`), format.Options{AllowTrailing: true}); err != nil {
		t.Error(err)
	}
}
