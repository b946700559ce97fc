package y3

import (
	"errors"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data, path string
		answer           format.SearchResult
		fed              int    // number of bytes up to the result or error
		err              string // end of the error's text
	}{
		{"value", "\x01\x01\x05\x82\x04\x03\x02ab", "0x02.0x03", format.Found, 9, ""},
		{"empty value", "\x01\x00", "0x01", format.Found, 2, ""},
		{"node at its first packet's tag", "\x82\x04\x03\x02", "0x02", format.Found, 3, ""},
		{"empty node", "\x82\x00\x01\x00", "0x02", format.Found, 2, ""},
		{"item", "\xd0\x06\x00\x01\x05\x00\x01\x07", "0x10.1", format.Found, 8, ""},
		{"item of a slice without the flag", "\x90\x06\x00\x01\x05\x00\x01\x07", "0x10.1", format.Found, 8, ""},
		{"absent before the end", "\x82\x03\x03\x01\x05\x01\x01\x05", "0x02.0x04", format.Absent, 5, ""},
		{"absent in an empty node", "\x82\x00\x01\x00", "0x02.0x04", format.Absent, 2, ""},
		{"absent item", "\xd0\x03\x00\x01\x05\x01\x00", "0x10.1", format.Absent, 5, ""},
		{"absent below a primitive", "\x01\x02", "0x01.0x02", format.Absent, 2, ""},
		{"absent at the end of the message", "\x01\x01\x05", "0x02", format.Absent, 3, ""},
		{"no key", "\x01\x01\x05", "name", format.Absent, 1, ""},
		{"long length", "\x01\x80\x80\x01\x05", "0x01", format.Found, 5, ""},
		{"cut in a length", "\x01\x80", "0x01", format.More, 2, "unexpected EOF"},
		{"cut in what is passed", "\x01\x05ab", "0x02", format.More, 4, "unexpected EOF"},
		{"claim of the longest packet", "\x01\x87\xff\xff\xff\x7fabc", "0x02", format.More, 9, "unexpected EOF"},
		{"claim of the longest value", "\x01\x87\xff\xff\xff\x7fabc", "0x01", format.Found, 6, ""},
		{"negative length", "\x01\x01\x05\x01\x7f", "0x02", format.More, 5, "negative length at offset 4"},
		{"length of six bytes", "\x01\x80\x80\x80\x80\x80\x01", "0x02", format.More, 6, "length of more than 5 bytes at offset 1"},
		{"longer than its node", "\x82\x03\x03\x02ab", "0x02.0x04", format.More, 4, "length 2 exceeds the 1 bytes left in its node at offset 4"},
		{"node ends in a length", "\x82\x02\x03\x80\x01", "0x02.0x04", format.More, 4, "ends before its length does in its node at offset 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			formattest.SearchCase(t, Format{}, test.data, test.path, test.answer, test.fed, test.err)
		})
	}
}

func TestSearchTooLong(t *testing.T) {
	t.Parallel()
	data := []byte("\x82\x22\x03\x20" + strings.Repeat("x", 32))
	s := Format{}.NewSearch(field.MustParse("0x02.0x03"), format.SearchOptions{MaxValue: 31})
	answer, fed, err := formattest.FeedSingly(s, data)
	if want := (field.Span{Head: 2, Off: 4, End: 36, Kind: field.Untyped}); answer != format.Found || err != nil || fed != 4 || s.Span() != want {
		t.Errorf("got %v after %d bytes, %v, at %+v, want it found after 4 at %+v", answer, fed, err, s.Span(), want)
	}
	if v, err := s.Value(field.AnyType); !errors.Is(err, format.ErrTooLong) {
		t.Errorf("got %+v, %v, want format.ErrTooLong", v, err)
	}
}

func TestSearchLarge(t *testing.T) {
	b := NewBuilder(P)
	b.String(0x10, "e-42")
	b.Bytes(0x11, make([]byte, 12<<20))
	b.Node(0x12)
	b.Int32(0x10, 42)
	b.End()
	data, err := b.Message()
	if err != nil {
		t.Fatal(err)
	}
	formattest.SearchLarge(t, Format{}, data, "0x10", "0x12.0x10")
}

func FuzzSearch(f *testing.F)  { fuzzSearch(f, Format{Dialect: P}) }
func FuzzSearchN(f *testing.F) { fuzzSearch(f, Format{Dialect: N}) }

func fuzzSearch(f *testing.F, form Format) {
	for _, r := range regressions {
		f.Add(r.data, "0x01.0x02", uint64(len(r.data)))
	}
	f.Add([]byte("\xd0\x06\x00\x01\x05\x00\x01\x07"), "0x10.1", uint64(3))
	f.Fuzz(func(t *testing.T, data []byte, path string, seed uint64) {
		if p, err := field.Parse(path); err == nil {
			formattest.CheckSearch(t, form, data, p, seed)
		}
	})
}
