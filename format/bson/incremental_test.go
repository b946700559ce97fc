package bson

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	inner := "\x03d\x00\x0c\x00\x00\x00\x10n\x00\x07\x00\x00\x00\x00" // 15 bytes
	tests := []struct {
		name, data, path string
		answer           format.SearchResult
		fed              int    // number of bytes until Feed returns a result or an error
		err              string // suffix of the error text
	}{
		{"value", inner, "d.n", format.Found, 18, ""},
		{"container at its head", inner, "d", format.Found, 11, ""},
		{"absent before the end", inner + "\x0az\x00", "d.m", format.Absent, 19, ""},
		{"absent", inner, "e", format.Absent, 20, ""},
		{"absent below a scalar", "\x10n\x00\x07\x00\x00\x00", "n.x", format.Absent, 7, ""},
		{"absent below a value of no type", "\x69n\x00\x07", "n.x", format.Absent, 7, ""},
		{"null", "\x0an\x00", "n", format.Found, 7, ""},
		{"longer key first", "\x0anm\x00\x08n\x00\x01", "n", format.Found, 12, ""},
		{"shorter key first", "\x0an\x00\x08nm\x00\x01", "nm", format.Found, 12, ""},
		{"key with a NUL", "\x0an\x00\x0am\x00", "n\x00\x0am", format.Absent, 4, ""},
		{"text without its NUL", "\x02t\x00\x03\x00\x00\x00ab\x00", "t", format.Found, 13, ""},
		{"item", "\x04a\x00\x0c\x00\x00\x00\x0a9\x00\x08x\x00\x01\x00", "a.1", format.Found, 18, ""},
		{"absent item", "\x04a\x00\x08\x00\x00\x00\x0a0\x00\x00", "a.1", format.Absent, 15, ""},
		{"regular expression", "\x0br\x00ab\x00i\x00", "r", format.Found, 12, ""},
		{"behind a regular expression", "\x0br\x00ab\x00i\x00\x0an\x00", "n", format.Found, 15, ""},
		{"claim of the longest text", "\x02t\x00\xff\xff\xff\x7fab", "u", format.More, 11, "string of length 2147483647 at offset 7"},
		{"longer than its document", "\x02t\x00\xff\x00\x00\x00ab\x00", "u", format.More, 11, "value of 259 bytes where 7 are left in its document at offset 7"},
		{"no such type", "\x20t\x00abcd", "u", format.More, 7, "value of type 0x20, which there is not at offset 7"},
		{"key without a NUL", "\x0aab", "u", format.More, 7, "C string without a closing NUL at offset 7"},
		{"closed early", "\x00\x00", "u", format.More, 5, "document closed 2 bytes before its length says at offset 4"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			formattest.SearchCase(t, Format{}, string(closeDocument(append([]byte{0, 0, 0, 0}, test.data...), 0)), test.path, test.answer, test.fed, test.err)
		})
	}
}

func TestSearchCut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, data string
		fed        int
		err        string
	}{
		{"cut in the head", "\x10\x00", 2, "unexpected EOF"},
		{"cut in a key", "\x10\x00\x00\x00\x0an", 6, "unexpected EOF"},
		{"claim of the longest document", "\x00\x00\x00\x7f\x0an\x00", 7, "unexpected EOF"},
		{"length too short", "\x04\x00\x00\x00\x00", 4, "document of length 4 at offset 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			formattest.SearchCase(t, Format{}, test.data, "m", format.More, test.fed, test.err)
		})
	}
}

// TestSearchTooLong searches for values longer than MaxValue.
func TestSearchTooLong(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 32)
	for element, end := range map[string]int{
		"\x02v\x00\x21\x00\x00\x00" + text + "\x00": 43,
		"\x0bv\x00" + text + "\x00i\x00":            -1,
	} {
		data := closeDocument(append([]byte{0, 0, 0, 0}, element...), 0)
		s := Format{}.NewSearch(field.MustParse("v"), format.SearchOptions{MaxValue: 16})
		answer, fed, err := formattest.FeedSingly(s, data)
		if answer != format.Found || err != nil || fed > 24 || s.Span().End != end || s.Span().Head != 4 {
			t.Errorf("%q: got %v after %d bytes, %v, at %+v, want it found up to %d", element, answer, fed, err, s.Span(), end)
		}
		if v, err := s.Value(field.AnyType); !errors.Is(err, format.ErrTooLong) {
			t.Errorf("%q: got %+v, %v, want format.ErrTooLong", element, v, err)
		}
	}
}

func TestSearchLarge(t *testing.T) {
	const size = 12 << 20
	data := []byte("\x00\x00\x00\x00\x02id\x00\x05\x00\x00\x00e-42\x00\x05blob\x00")
	data = append(binary.LittleEndian.AppendUint32(data, size), 0)
	data = append(append(data, make([]byte, size)...), "\x10last\x00\x2a\x00\x00\x00"...)
	formattest.SearchLarge(t, Format{}, closeDocument(data, 0), "id", "last")
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
