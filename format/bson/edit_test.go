package bson

import (
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format/formattest"
)

// document returns a document with these encoded elements.
func document(elements ...string) string {
	return string(closeDocument([]byte("\x00\x00\x00\x00"+strings.Join(elements, "")), 0))
}

func TestEdit(t *testing.T) {
	t.Parallel()
	one := "\x10a\x00\x01\x00\x00\x00"
	list := func(keys ...string) string {
		var all []string
		for _, k := range keys {
			all = append(all, "\x0a"+k+"\x00")
		}
		return document(all...)
	}
	var nine, eleven []string
	for i := range 11 {
		key := string(rune('0' + i))
		if i == 10 {
			key = "10"
		}
		if eleven = append(eleven, key); i < 9 {
			nine = append(nine, key)
		}
	}
	long := "\x05%\x00\x00\x03\x00\x00\x80" + strings.Repeat("x", 768)
	longAt := func(key string) string { return strings.Replace(long, "%", key, 1) }
	formattest.EditCases(t, Format{}, []formattest.EditCase{
		{Name: "a new key", Data: document(one), Op: "insert", Path: "b", Value: formattest.Text("x"), Want: document(one, "\x02b\x00\x02\x00\x00\x00x\x00")},
		{Name: "an integer of 64 bits", Data: document(), Op: "insert", Path: "b", Value: formattest.Int(1 << 32), Want: document("\x12b\x00\x00\x00\x00\x00\x01\x00\x00\x00")},
		{Name: "bytes", Data: document(), Op: "insert", Path: "b", Value: field.Value{Kind: field.Bytes, Bytes: []byte("xy")}, Want: document("\x05b\x00\x02\x00\x00\x00\x00xy")},
		{Name: "into a document in a document", Data: document("\x03d\x00"+document(), one), Op: "insert", Path: "d.b", Value: field.Value{Kind: field.Null}, Want: document("\x03d\x00"+document("\x0ab\x00"), one)},
		{Name: "behind the last item", Data: document("\x04l\x00" + list("0")), Op: "insert", Path: "l.1", Value: field.Value{Kind: field.Null}, Want: document("\x04l\x00" + list("0", "1"))},
		{Name: "before items that get new keys", Data: document("\x04l\x00"+document("\x080\x00\x01"+"\x0a1\x00"), one), Op: "insert", Path: "l.0", Value: formattest.Int(7), Want: document("\x04l\x00"+document("\x100\x00\x07\x00\x00\x00"+"\x081\x00\x01"+"\x0a2\x00"), one)},
		{Name: "keys that get longer", Data: document("\x04l\x00" + list(eleven[:10]...)), Op: "insert", Path: "l.3", Value: field.Value{Kind: field.Null}, Want: document("\x04l\x00" + list(eleven...))},
		{Name: "keys that get shorter", Data: document("\x04l\x00" + list(eleven...)), Op: "delete", Path: "l.0", Want: document("\x04l\x00" + list(eleven[:10]...))},
		{Name: "a long item behind", Data: document("\x04l\x00" + document("\x0a0\x00", longAt("1"), "\x0a2\x00")), Op: "insert", Path: "l.1", Value: field.Value{Kind: field.Null}, Want: document("\x04l\x00" + document("\x0a0\x00", "\x0a1\x00", longAt("2"), "\x0a3\x00"))},
		{Name: "before a long item", Data: document("\x04l\x00" + document("\x0a0\x00", longAt("1"), "\x0a2\x00")), Op: "delete", Path: "l.0", Want: document("\x04l\x00" + document(longAt("0"), "\x0a1\x00"))},
		{Name: "a document", Data: document(), Op: "insert", Path: "d", Value: formattest.Encoded(field.Map, document(one)), Want: document("\x03d\x00" + document(one))},
		{Name: "an array", Data: document(), Op: "insert", Path: "l", Value: formattest.Encoded(field.List, list(nine...)), Want: document("\x04l\x00" + list(nine...))},
		{Name: "delete a key", Data: document("\x03d\x00"+document(one, "\x0ab\x00"), one), Op: "delete", Path: "d.a", Want: document("\x03d\x00"+document("\x0ab\x00"), one)},
		{Name: "delete the only key", Data: document(one), Op: "delete", Path: "a", Want: document()},
		{Name: "replace by a longer one", Data: document("\x03d\x00" + document("\x02b\x00\x02\x00\x00\x00x\x00")), Op: "replace", Path: "d.b", Value: formattest.Text("xyz"), Want: document("\x03d\x00" + document("\x02b\x00\x04\x00\x00\x00xyz\x00"))},
		{Name: "replace null", Data: document("\x0ab\x00"), Op: "replace", Path: "b", Value: formattest.Int(5), Want: document("\x10b\x00\x05\x00\x00\x00")},

		{Name: "a key that is there", Data: document(one), Op: "insert", Path: "a", Value: formattest.Int(2), Err: "there already"},
		{Name: "a key with a NUL", Data: document(one), Op: "insert", Path: "a\x00b", Value: formattest.Int(2), Err: "holds a NUL"},
		{Name: "a key that is not UTF-8", Data: document(one), Op: "insert", Path: "a\xff", Value: formattest.Int(2), Err: "not UTF-8"},
		{Name: "an integer above the largest", Data: document(one), Op: "insert", Path: "b", Value: field.Value{Kind: field.Int, Int: -1, Unsigned: true}, Err: "2^63-1 at most"},
		{Name: "no parent", Data: document(one), Op: "insert", Path: "b.c", Value: formattest.Int(2), Err: "not found"},
		{Name: "a scalar as parent", Data: document(one), Op: "insert", Path: "a.c", Value: formattest.Int(2), Err: "not found"},
		{Name: "an index too large", Data: document("\x04l\x00" + list("0")), Op: "insert", Path: "l.2", Value: formattest.Int(2), Err: "not found"},
		{Name: "a name in an array", Data: document("\x04l\x00" + list("0")), Op: "insert", Path: "l.a", Value: formattest.Int(2), Err: "not found"},
		{Name: "a document as an array", Data: document(), Op: "insert", Path: "l", Value: formattest.Encoded(field.List, document(one)), Err: `the list to be inserted: bson: key "a" of an array`},
		{Name: "a document that is malformed", Data: document(), Op: "insert", Path: "d", Value: formattest.Encoded(field.Map, "\x06\x00\x00\x00\x00"), Err: "the map to be inserted"},
		{Name: "an array that ends in the middle of what stands behind", Data: document("\x04l\x00" + document("\x0a0\x00", "\x020\x00\x09\x00\x00\x00x\x00")), Op: "insert", Path: "l.0", Value: formattest.Int(2), Err: "value of 13 bytes"},
		{Name: "delete the whole message", Data: document(), Op: "delete", Err: "cannot be deleted"},
		{Name: "delete nothing", Data: document(one), Op: "delete", Path: "b", Err: "not found"},
	})
}
