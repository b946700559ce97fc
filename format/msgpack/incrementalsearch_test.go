package msgpack

import (
	"bytes"
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
	tests := []struct {
		name, data, path string
		answer           format.SearchResult
		fed              int    // number of bytes up to the result or error
		err              string // end of the error's text
	}{
		{"value", "\x82\xa1a\x01\xa1b\xcd\x12\x34", "b", format.Found, 9, ""},
		{"container at its head", "\x81\xa1a\xdc\x00\x20", "a", format.Found, 6, ""},
		{"absent before the end", "\x92\x81\xa1a\x01\x02", "0.b", format.Absent, 5, ""},
		{"absent in a list", "\x91\x01", "1", format.Absent, 1, ""},
		{"absent in an empty map", "\x80", "a", format.Absent, 1, ""},
		{"integer key", "\x82\xcc\x80\x01\xe0\x02", "-32", format.Found, 6, ""},
		{"key that is a container", "\x82\x92\x01\x91\x02\x03\xa1a\x04", "a", format.Found, 9, ""},
		{"extension", "\x91\xc7\x03\x05abc", "0", format.Found, 7, ""},
		{"cut in a head", "\x81\xa1a\xcd\x12", "a", format.More, 5, "unexpected EOF"},
		{"cut in what is passed", "\x82\xa1a\xd9\xff", "b", format.More, 5, "unexpected EOF"},
		{"claim of the largest bin", "\x92\xc6\xff\xff\xff\xffabc", "1", format.More, 9, "unexpected EOF"},
		{"claim of the largest map", "\x92\xdf\xff\xff\xff\xff\x01\x02", "1", format.More, 8, "unexpected EOF"},
		{"claim of the largest value", "\xdb\xff\xff\xff\xffabc", "", format.Found, 5, ""},
		{"never used", "\x92\x01\xc1", "1", format.More, 3, "first byte 0xc1 is never used at offset 2"},
		{"nested too deep", "\x92" + strings.Repeat("\x91", 40), "1", format.More, 33, "nested deeper than 32 levels at offset 32"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			formattest.SearchCase(t, Format{}, test.data, test.path, test.answer, test.fed, test.err)
		})
	}
}

func TestSearchTooLong(t *testing.T) {
	t.Parallel()
	data := []byte("\x91\xd9\x20" + strings.Repeat("x", 32))
	s := Format{}.NewSearch(field.MustParse("0"), format.SearchOptions{MaxValue: 33})
	answer, fed, err := formattest.FeedSingly(s, data)
	if want := (field.Span{Head: 1, Off: 3, End: 35, Kind: field.Text}); answer != format.Found || err != nil || fed != 3 || s.Span() != want {
		t.Errorf("got %v after %d bytes, %v, at %+v, want it found after 3 at %+v", answer, fed, err, s.Span(), want)
	}
	if v, err := s.Value(field.AnyType); !errors.Is(err, format.ErrTooLong) {
		t.Errorf("got %+v, %v, want format.ErrTooLong", v, err)
	}
}

func TestSearchLarge(t *testing.T) {
	const size = 12 << 20
	data := binary.BigEndian.AppendUint32([]byte("\x84\xa2id\xa4e-42\xa4blob\xc6"), size)
	data = append(data, make([]byte, size)...)
	data = binary.BigEndian.AppendUint32(append(data, "\xa5items\xdd"...), 1<<16)
	data = append(data, bytes.Repeat([]byte("\xcd\x12\x34"), 1<<16)...)
	data = append(data, "\xa4last\x2a"...)
	formattest.SearchLarge(t, Format{}, data, "id", "last")
}

func FuzzSearch(f *testing.F) {
	for _, s := range formattest.VectorInputs(f, "msgpack") {
		f.Add(s, "readings.0.value", uint64(len(s)))
	}
	f.Fuzz(func(t *testing.T, data []byte, path string, seed uint64) {
		if p, err := field.Parse(path); err == nil {
			formattest.CheckSearch(t, Format{}, data, p, seed)
		}
	})
}
