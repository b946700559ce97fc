package protobuf

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
	"example.com/ferry/format/schema"
)

// device is a shape with a zigzag number, a list of numbers, a list of messages, and a text.
var device = &schema.Message{Name: "test.Device", Fields: []schema.Field{
	{Name: "level", Number: 1, Type: schema.Sint32},
	{Name: "samples", Number: 2, Type: schema.Int32, Repeated: true},
	{Name: "parts", Number: 3, Type: schema.Nested, Repeated: true, Message: &schema.Message{Name: "test.Part", Fields: []schema.Field{
		{Name: "id", Number: 1, Type: schema.String},
	}}},
}}

func TestSearch(t *testing.T) {
	t.Parallel()
	numbers, shape := Format{}, Format{device}
	tests := []struct {
		name       string
		f          Format
		data, path string
		answer     format.SearchResult
		fed        int    // number of bytes up to the result or error
		err        string // end of the error's text
	}{
		{"varint", numbers, "\x08\x05\x10\xac\x02", "2", format.Found, 5, ""},
		{"bytes", numbers, "\x08\x05\x12\x02ab", "2", format.Found, 6, ""},
		{"empty bytes", numbers, "\x12\x00", "2", format.Found, 2, ""},
		{"below a field", numbers, "\x0a\x04\x10\x01\x18\x02", "1.3", format.Found, 6, ""},
		{"fixed", numbers, "\x0d\x01\x02\x03\x04\x11\x01\x02\x03\x04\x05\x06\x07\x08", "2", format.Found, 14, ""},
		{"group", numbers, "\x0b\x10\x01\x0c", "1", format.Found, 4, ""},
		{"behind a group", numbers, "\x0b\x13\x10\x01\x14\x0c\x10\x05", "2", format.Found, 8, ""},
		{"absent before the end", numbers, "\x0a\x02\x10\x01\x10\x05", "1.3", format.Absent, 4, ""},
		{"absent at the end of the message", numbers, "\x08\x05", "2", format.Absent, 2, ""},
		{"absent below a number", numbers, "\x08\x05", "1.1", format.Absent, 2, ""},
		{"no number", numbers, "\x08\x05", "level", format.Absent, 1, ""},
		{"name", shape, "\x10\x01\x08\x03", "level", format.Found, 4, ""},
		{"list", shape, "\x10\x01\x10\x02", "samples", format.Found, 2, ""},
		{"item", shape, "\x10\x01\x10\x02", "samples.1", format.Found, 4, ""},
		{"packed item", shape, "\x12\x03\x01\xac\x02", "samples.1", format.Found, 5, ""},
		{"item behind packed ones", shape, "\x12\x02\x01\x02\x10\x03", "samples.2", format.Found, 6, ""},
		{"absent item", shape, "\x12\x02\x01\x02\x08\x03", "samples.2", format.Absent, 6, ""},
		{"absent item at the end", shape, "\x12\x02\x01\x02", "samples.2", format.Absent, 4, ""},
		{"below an item", shape, "\x1a\x00\x1a\x03\x0a\x01x", "parts.1.id", format.Found, 7, ""},
		{"cut in a tag", numbers, "\x88", "1", format.More, 1, "unexpected EOF"},
		{"cut in what is passed", numbers, "\x0a\x7fab", "2", format.More, 4, "unexpected EOF"},
		{"claim of the longest bytes", numbers, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x3fabc", "2", format.More, 13, "unexpected EOF"},
		{"claim of the longest value", numbers, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x3fabc", "1", format.Found, 10, ""},
		{"longer than its message", numbers, "\x0a\x02\x12\x05ab", "1.3", format.More, 4, "a value of 5 bytes exceeds the 0 left in its message at offset 4"},
		{"message ends in a varint", numbers, "\x0a\x02\x10\x80\x01", "1.3", format.More, 4, "a varint has no end in its message at offset 3"},
		{"no such number", numbers, "\x00\x01", "1", format.More, 1, "field number 0 is not 1 to 536870911 at offset 0"},
		{"no such wire type", numbers, "\x08\x01\x0f", "2", format.More, 3, "wire type 7 of field 1 does not exist at offset 2"},
		{"group that did not begin", numbers, "\x08\x01\x0c", "2", format.More, 3, "ends that did not begin at offset 2"},
		{"group without an end", numbers, "\x0a\x03\x0b\x10\x01", "1.3", format.More, 5, "a group has no end in its message at offset 5"},
		{"nested too deep", numbers, strings.Repeat("\x0b", 40), "2", format.More, 33, "nested deeper than 32 levels at offset 32"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			formattest.SearchCase(t, test.f, test.data, test.path, test.answer, test.fed, test.err)
		})
	}
}

// TestSearchShape reads values that need the schema. The search no longer has the message around the value.
func TestSearchShape(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int64{"level": -2, "samples.1": 300} {
		s := Format{device}.NewSearch(field.MustParse(path), format.SearchOptions{})
		if answer, _, err := formattest.FeedSingly(s, []byte("\x08\x03\x12\x03\x01\xac\x02")); answer != format.Found || err != nil {
			t.Errorf("%s: got %v, %v, want found", path, answer, err)
		}
		if v, err := s.Value(field.AnyType); err != nil || v.Kind != field.Int || v.Int != want {
			t.Errorf("%s: got %+v, %v, want %d", path, v, err, want)
		}
	}
}

func TestSearchTooLong(t *testing.T) {
	t.Parallel()
	data := []byte("\x0a\x22\x12\x20" + strings.Repeat("x", 32))
	s := Format{}.NewSearch(field.MustParse("1.2"), format.SearchOptions{MaxValue: 31})
	answer, fed, err := formattest.FeedSingly(s, data)
	if want := (field.Span{Head: 2, Off: 4, End: 36, Kind: field.Untyped}); answer != format.Found || err != nil || fed != 4 || s.Span() != want {
		t.Errorf("got %v after %d bytes, %v, at %+v, want it found after 4 at %+v", answer, fed, err, s.Span(), want)
	}
	if v, err := s.Value(field.AnyType); !errors.Is(err, format.ErrTooLong) {
		t.Errorf("got %+v, %v, want format.ErrTooLong", v, err)
	}
}

func TestSearchLarge(t *testing.T) {
	data := []byte("\x0a\x04e-42\x12")
	data = protowire.AppendBytes(data, make([]byte, 12<<20))
	data = append(data, "\x1a\x02\x08\x2a"...)
	formattest.SearchLarge(t, Format{}, data, "1", "3.1")
}

func FuzzSearch(f *testing.F)      { fuzzSearch(f, Format{}, "5.1") }
func FuzzSearchShape(f *testing.F) { fuzzSearch(f, Format{pump}, "int32_list.1") }

func fuzzSearch(f *testing.F, form Format, path string) {
	for _, s := range seeds(f) {
		f.Add(s, path, uint64(len(s)))
	}
	f.Fuzz(func(t *testing.T, data []byte, path string, seed uint64) {
		if p, err := field.Parse(path); err == nil {
			formattest.CheckSearch(t, form, data, p, seed)
		}
	})
}
