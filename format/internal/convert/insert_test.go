package convert_test

import (
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/internal/convert"
)

func TestInsert(t *testing.T) {
	t.Parallel()
	deepest := format.Options{}.Depth()
	for _, row := range []struct {
		name  string
		v     field.Value
		depth int
		want  string // part of the error text; empty if no error is expected
	}{
		{"null", field.Value{Kind: field.Null}, 1, ""},
		{"a text", field.Value{Kind: field.Text, Bytes: []byte("é")}, 1, ""},
		{"a text that is not UTF-8", field.Value{Kind: field.Text, Bytes: []byte{0xc3}}, 1, "not UTF-8"},
		{"bytes", field.Value{Kind: field.Bytes, Bytes: []byte{0xc3}}, 1, ""},
		{"untyped bytes", field.Value{Kind: field.Untyped}, 1, "a scalar can be inserted"},
		{"nothing", field.Value{}, 1, "a scalar can be inserted"},
		{"a list", field.Value{Kind: field.List, Bytes: []byte{0x81, 0x01}}, deepest - 1, ""},
		{"a list of lists as deep", field.Value{Kind: field.List, Bytes: []byte{0x81, 0x80}}, deepest - 1, "nested deeper than 1"},
		{"a list deeper", field.Value{Kind: field.List, Bytes: []byte{0x80}}, deepest, "nest too deep"},
		{"a list cut off", field.Value{Kind: field.List, Bytes: []byte{0x81}}, 1, "the list to be inserted: unexpected EOF"},
		{"a map as list", field.Value{Kind: field.List, Bytes: []byte{0xa0}}, 1, "that of no list"},
	} {
		err := convert.Insert(cbor.Format{}, &row.v, row.depth)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: got %v, want an error with %q", row.name, err, row.want)
		}
	}
	number := field.Value{Kind: field.Int, Int: 5, Bytes: []byte("what an earlier value left behind")}
	if err := convert.Insert(cbor.Format{}, &number, 1); err != nil || number.Bytes != nil {
		t.Errorf("an integer: got %+v, %v, want no bytes", number, err)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	if err := convert.Name("cbor", "é"); err != nil {
		t.Error(err)
	}
	if err := convert.Name("cbor", "\xc3"); err == nil || !strings.Contains(err.Error(), `"\xc3" is not UTF-8`) {
		t.Errorf("got %v, want an error with the key", err)
	}
}
