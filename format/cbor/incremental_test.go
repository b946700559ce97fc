package cbor

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
	"example.com/ferry/internal/cborhead"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat("\x81", 40)
	tests := []struct {
		name, data, path string
		answer           format.SearchResult
		fed              int    // number of bytes until Feed returns a result or an error
		err              string // suffix of the error text
	}{
		{"value", "\xa2\x61a\x01\x61b\x19\x12\x34", "b", format.Found, 9, ""},
		{"container at its head", "\xa1\x61a\x98\x20", "a", format.Found, 5, ""},
		{"absent before the end", "\x82\xa1\x61a\x01\x02", "0.b", format.Absent, 5, ""},
		{"absent in a list", "\x81\x01", "1", format.Absent, 1, ""},
		{"absent below a scalar", "\xa1\x61a\x19\x12\x34", "a.b", format.Absent, 6, ""},
		{"absent in an open map", "\xbf\x61a\x01\xff", "b", format.Absent, 5, ""},
		{"open list", "\x9f\x01\x7f\x61a\xff\x02\xff", "2", format.Found, 7, ""},
		{"integer key", "\xa2\x18\x20\x01\x20\x02", "-1", format.Found, 6, ""},
		{"key in chunks", "\xa2\x7f\x61a\xff\x01\x7f\x61a\x60\x61b\xff\x02", "ab", format.Found, 14, ""},
		{"key that is a container", "\xa2\x82\x01\x81\x02\x03\x61a\x04", "a", format.Found, 9, ""},
		{"tagged key and value", "\xa1\xc1\x61a\xc1\xc2\x05", "a", format.Found, 7, ""},
		{"text in chunks", "\x81\x7f\x61a\x61b\xff", "0", format.Found, 7, ""},
		{"cut in a head", "\xa1\x61a\x19\x12", "a", format.More, 5, "unexpected EOF"},
		{"cut in what is passed", "\xa2\x61a\x78\xff", "b", format.More, 5, "unexpected EOF"},
		{"claim of the largest text", "\x82\x7b\xff\xff\xff\xff\xff\xff\xff\xffabc", "1", format.More, 13, "unexpected EOF"},
		{"claim of the largest map", "\x82\xbb\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02", "1", format.More, 12, "unexpected EOF"},
		{"claim of the largest value", "\x7b\xff\xff\xff\xff\xff\xff\xff\xffabc", "", format.Found, 9, ""},
		{"reserved byte", "\x82\x01\x1c", "1", format.More, 3, "initial byte 0x1c is reserved at offset 2"},
		{"break without a container", "\x82\x01\xff", "1", format.More, 3, "where an item should start at offset 2"},
		{"break before a value", "\xbf\x61a\xff", "b", format.More, 4, "where an item should start at offset 3"},
		{"break behind a tag", "\x9f\xc1\xff", "1", format.More, 3, "where an item should start at offset 2"},
		{"chunk of another type", "\x82\x7f\x01", "1", format.More, 3, "chunk of an open string should start at offset 2"},
		{"nested too deep", "\x82" + nested, "1", format.More, 33, "nested deeper than 32 levels at offset 32"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			formattest.SearchCase(t, Format{}, test.data, test.path, test.answer, test.fed, test.err)
		})
	}
}

// TestSearchTooLong searches for values longer than MaxValue.
func TestSearchTooLong(t *testing.T) {
	t.Parallel()
	for data, end := range map[string]int{
		"\x78\x20" + strings.Repeat("x", 32):           34,
		"\x7f" + strings.Repeat("\x62ab", 12) + "\xff": -1,
	} {
		s := Format{}.NewSearch(field.Path{}, format.SearchOptions{MaxValue: 16})
		answer, fed, err := formattest.FeedSingly(s, []byte(data))
		if answer != format.Found || err != nil || fed > 19 || s.Span().End != end || s.Span().Kind != field.Text {
			t.Errorf("% x: got %v after %d bytes, %v, at %+v, want a text up to %d", data, answer, fed, err, s.Span(), end)
		}
		if v, err := s.Value(field.AnyType); !errors.Is(err, format.ErrTooLong) {
			t.Errorf("% x: got %+v, %v, want format.ErrTooLong", data, v, err)
		}
	}
}

func TestSearchLarge(t *testing.T) {
	const size = 12 << 20
	data := append(cborhead.Append([]byte("\xa4\x62id\x64e-42\x64blob"), cborhead.Bytes, size), make([]byte, size)...)
	data = append(cborhead.Append(append(data, "\x65items"...), cborhead.Array, 1<<16), bytes.Repeat([]byte("\x19\x12\x34"), 1<<16)...)
	data = append(data, "\x64last\x18\x2a"...)
	formattest.SearchLarge(t, Format{}, data, "id", "last")
}

func FuzzSearch(f *testing.F) {
	for _, s := range fuzzSeeds(f) {
		f.Add(s, "readings.0.value", uint64(len(s)))
	}
	f.Fuzz(func(t *testing.T, data []byte, path string, seed uint64) {
		if p, err := field.Parse(path); err == nil {
			formattest.CheckSearch(t, Format{}, data, p, seed)
		}
	})
}
