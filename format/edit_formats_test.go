package format_test

import (
	"bytes"
	"slices"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/bson"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/format/y3"
)

// editableFormat is a format and the parts from which the tests build a message of any size.
type editableFormat struct {
	format.Format
	format.Editor
	least                     string // smallest message that the test extends
	id, outer, payload, added string // paths in the message
}

var editables = []editableFormat{
	{cbor.Format{}, cbor.Format{}, "\xa0", "id", "event", "event.payload", "event.added"},
	{json.Format{}, json.Format{}, "{}", "id", "event", "event.payload", "event.added"},
	{y3.Format{}, y3.Format{}, "\x00\x00", "0x01", "0x02", "0x02.0x10", "0x02.0x11"},
	{y3.Format{Dialect: y3.N}, y3.Format{Dialect: y3.N}, "\x00\x00", "0x01", "0x02", "0x02.0x10", "0x02.0x11"},
	{bson.Format{}, bson.Format{}, "\x05\x00\x00\x00\x00", "id", "event", "event.payload", "event.added"},
	{msgpack.Format{}, msgpack.Format{}, "\x80", "id", "event", "event.payload", "event.added"},
}

// message returns a message with an id and a container. The container holds a text of size bytes.
func (f editableFormat) message(t testing.TB, size int) []byte {
	t.Helper()
	data := []byte(f.least)
	empty := data
	if f.id != "id" {
		empty = nil // an empty Y3 node has no content
	}
	for _, step := range []struct {
		path string
		v    field.Value
	}{
		{f.id, field.Value{Kind: field.Text, Bytes: []byte("82eb2e26-0f24-48aa-ae4c-de9dac3fb9bc")}},
		{f.outer, field.Value{Kind: field.Map, Bytes: empty}},
		{f.payload, field.Value{Kind: field.Text, Bytes: bytes.Repeat([]byte("x"), size)}},
	} {
		var e format.Edit
		if err := f.Insert(&e, data, field.MustParse(step.path), step.v); err != nil {
			t.Fatalf("%s: Insert(%q): %v", f.Name(), step.path, err)
		}
		data = e.AppendTo(nil)
	}
	if err := f.Validate(data, format.Options{}); err != nil {
		t.Fatalf("%s: %v", f.Name(), err)
	}
	return data
}

// TestEditsCopyNothing changes a large message. The changed message must consist of few parts, and the payload must not
// be copied.
func TestEditsCopyNothing(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for _, f := range editables {
		data := f.message(t, size)
		id, added := field.MustParse(f.id), field.MustParse(f.added)
		v := field.Value{Kind: field.Text, Bytes: []byte("another id")}
		for name, plan := range map[string]func(*format.Edit) error{
			"Replace": func(e *format.Edit) error { return f.Replace(e, data, id, v) },
			"Insert":  func(e *format.Edit) error { return f.Insert(e, data, added, v) },
			"Delete":  func(e *format.Edit) error { return f.Delete(e, data, id) },
		} {
			var e format.Edit
			if err := plan(&e); err != nil {
				t.Fatalf("%s: %s: %v", f.Name(), name, err)
			}
			parts := e.Buffers(nil)
			inside := slices.ContainsFunc(parts, func(part []byte) bool {
				at := len(data) - len(part)
				for at > 0 && &data[at] != &part[0] {
					at--
				}
				return len(part) >= size && &data[at] == &part[0]
			})
			if !inside || len(parts) > 9 {
				t.Errorf("%s: %s gives %d parts, and that the payload is one of the message itself: %v", f.Name(), name, len(parts), inside)
			}
			if got, joined := e.AppendTo(nil), slices.Concat(parts...); !bytes.Equal(got, joined) || f.Validate(got, format.Options{}) != nil {
				t.Errorf("%s: %s gives %d bytes, and %d in parts", f.Name(), name, len(got), len(joined))
			}
		}
	}
}

// BenchmarkEdit plans changes of a 12 MB message and applies them to memory that is already allocated. It cannot be
// faster than memcpy.
func BenchmarkEdit(b *testing.B) {
	for _, f := range editables {
		data := f.message(b, 12<<20)
		dst := append(make([]byte, 0, len(data)+1000), data...) // touch all pages of dst before the measurement
		id, added := field.MustParse(f.id), field.MustParse(f.added)
		same := field.Value{Kind: field.Text, Bytes: []byte("00000000-0f24-48aa-ae4c-de9dac3fb9bc")}
		longer := field.Value{Kind: field.Text, Bytes: []byte("an id that is longer than the one that stands there")}
		var e format.Edit
		parts := make([][]byte, 0, 16)
		run := func(name string, bytes int, op func() error) {
			b.Run(f.Name()+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(bytes))
				for b.Loop() {
					if err := op(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("lookup", 0, func() error { _, err := f.Lookup(data, id); return err })
		run("in place", 0, func() error { _, err := f.PatchInPlace(data, id, same); return err })
		run("replace, in place", 0, func() error {
			err := f.Replace(&e, data, id, same)
			e.InPlace()
			return err
		})
		run("replace, buffers", 0, func() error {
			err := f.Replace(&e, data, id, longer)
			parts = e.Buffers(parts[:0])
			return err
		})
		run("insert, buffers", 0, func() error {
			err := f.Insert(&e, data, added, longer)
			parts = e.Buffers(parts[:0])
			return err
		})
		run("delete, buffers", 0, func() error {
			err := f.Delete(&e, data, id)
			parts = e.Buffers(parts[:0])
			return err
		})
		run("memcpy", len(data), func() error { dst = append(dst[:0], data...); return nil })
		run("replace, append", len(data), func() error {
			err := f.Replace(&e, data, id, longer)
			dst = e.AppendTo(dst[:0])
			return err
		})
		run("patch", len(data), func() error {
			var err error
			dst, err = f.Patch(dst[:0], data, id, longer)
			return err
		})
	}
}
