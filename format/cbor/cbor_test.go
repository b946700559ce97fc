package cbor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/internal/cborhead"
)

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := cbor.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEvents compares each value of each EdgeX event with the value in the JSON form of the event.
func TestEvents(t *testing.T) {
	text, err := os.ReadFile("testdata/edgex-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Name, JSON string }
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	all := edgexEvents(t)
	for _, v := range vectors {
		d := json.NewDecoder(strings.NewReader(v.JSON))
		d.UseNumber()
		var want map[string]any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		compare(t, all[v.Name], "", want)
	}
}

func compare(t *testing.T, data []byte, path string, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		for k, v := range want {
			compare(t, data, strings.TrimPrefix(path+"."+k, "."), v)
		}
		return
	case []any:
		for i, v := range want {
			compare(t, data, fmt.Sprintf("%s.%d", path, i), v)
		}
		return
	}
	s, err := Format{}.Lookup(data, field.MustParse(path))
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	v, err := Format{}.Value(data, s, field.AnyType)
	got := fmt.Sprint(v.Int)
	switch v.Kind {
	case field.Text:
		got = string(v.Bytes)
	case field.Bytes:
		b, _ := json.Marshal(v.Bytes) // base64, as in JSON
		got = strings.Trim(string(b), `"`)
	}
	if err != nil || got != fmt.Sprint(want) {
		t.Errorf("%s: got %s, %v, want %v", path, got, err, want)
	}
}

// TestUnusualEncodings looks up keys that do not have the shortest form.
func TestUnusualEncodings(t *testing.T) {
	for _, row := range []struct {
		name, data, path string
		head             int
		err              error
	}{
		{"shortest", "\xa1\x61k\x05", "k", 3, nil},
		{"long head", "\xa1\x78\x01k\x05", "k", 4, nil},
		{"longest head", "\xa1\x7b\x00\x00\x00\x00\x00\x00\x00\x01k\x05", "k", 11, nil},
		{"chunks", "\xa1\x7f\x61k\x60\x61l\xff\x05", "kl", 8, nil},
		{"chunks, of which the first is the name", "\xa1\x7f\x61k\x61l\xff\x05", "k", 0, field.ErrNotFound},
		{"tagged key", "\xa1\xc1\x61k\x05", "k", 4, nil},
		{"tagged map", "\xd9\xd9\xf7\xa1\x61k\x05", "k", 6, nil},
		{"indefinite map", "\xbf\x61j\x01\x61k\x05\xff", "k", 6, nil},
		{"absent in an indefinite map", "\xbf\x61j\x01\xff", "k", 0, field.ErrNotFound},
		{"integer key", "\xa1\x05\x06", "5", 2, nil},
		{"integer key with a long head", "\xa1\x18\x05\x06", "5", 3, nil},
		{"integer key with the longest head", "\xa1\x1b\x00\x00\x00\x00\x00\x00\x00\x05\x06", "5", 10, nil},
		{"integer key of two bytes", "\xa1\x18\x64\x06", "100", 3, nil},
		{"integer key of three bytes", "\xa1\x19\x03\xe8\x06", "1000", 4, nil},
		{"negative integer key", "\xa1\x24\x06", "-5", 2, nil},
		{"negative is not positive", "\xa1\x24\x06", "5", 0, field.ErrNotFound},
		{"key above the largest index", "\xa1\x1b\xff\xff\xff\xff\xff\xff\xff\xff\x06", "18446744073709551615", 10, nil},
		{"least key", "\xa1\x3b\xff\xff\xff\xff\xff\xff\xff\xff\x06", "-18446744073709551616", 10, nil},
		{"digits as text", "\xa1\x61\x35\x06", "5", 3, nil},
		{"first of two", "\xa2\x61k\x05\x61k\x06", "k", 3, nil},
		{"a byte string is no name", "\xa1\x41k\x05", "k", 0, field.ErrNotFound},
		{"index", "\x83\x01\x82\x02\x03\x04", "2", 5, nil},
		{"index in an indefinite array", "\x9f\x01\x9f\x02\xff\x04\xff", "2", 5, nil},
		{"index behind the end", "\x81\x01", "1", 0, field.ErrNotFound},
		{"index behind the end of an indefinite array", "\x9f\x01\xff", "1", 0, field.ErrNotFound},
		{"name in an array", "\x81\x01", "k", 0, field.ErrNotFound},
		{"inside a number", "\x05", "k", 0, field.ErrNotFound},
		{"past a nested indefinite map", "\xa2\x61j\xbf\x61k\x9f\x01\xff\xff\x61k\x05", "k", 12, nil},
		{"nothing", "", "k", 0, io.ErrUnexpectedEOF},
		{"cut in a key", "\xa1\x62k", "k", 0, io.ErrUnexpectedEOF},
		{"cut in the value", "\xa1\x61k\x19\x01", "k", 0, io.ErrUnexpectedEOF},
		{"more items claimed than there are bytes", "\xa2\x61j\x9a\xff\xff\xff\xff\x00", "k", 0, io.ErrUnexpectedEOF},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := Format{}.Lookup([]byte(row.data), field.MustParse(row.path))
			if !errors.Is(err, row.err) || s.Head != row.head {
				t.Errorf("got %+v, %v, want Head %d, %v", s, err, row.head, row.err)
			}
		})
	}
}

func TestFoldKeys(t *testing.T) {
	for _, row := range []struct {
		a, b   string
		folded bool
	}{{"id", "ID", true}, {"deviceName", "devicename", true}, {"a[", "a{", false}, {"k0", "k\x10", false}, {"é", "É", false}, {"a_long_name_of_many_words", "A_LONG_NAME_OF_MANY_WORDS", true}} {
		data := cborhead.Append(nil, cborhead.Map, 2)
		for _, k := range []string{row.a, row.b} {
			data = append(append(cborhead.Append(data, cborhead.Text, uint64(len(k))), k...), 0)
		}
		if err := (Format{}).Validate(data, format.Options{}); err != nil {
			t.Errorf("%q and %q: %v", row.a, row.b, err)
		}
		if err := (Format{}).Validate(data, format.Options{FoldKeys: true}); (err != nil) != row.folded {
			t.Errorf("FoldKeys, %q and %q: got %v, want refused: %v", row.a, row.b, err, row.folded)
		}
	}
}

// TestManyKeys validates maps of several sizes with a duplicate key at several places.
func TestManyKeys(t *testing.T) {
	for _, n := range []int{2, 63, 64, 65, 66, 300, 3000, 200000} {
		data := cborhead.Append(nil, cborhead.Map, uint64(n))
		var at []int
		for i := range n {
			at = append(at, len(data))
			data = append(cborhead.Append(data, cborhead.Uint, uint64(1000000+i)), 0)
		}
		if err := (Format{}).Validate(data, format.Options{}); err != nil {
			t.Fatalf("%d keys: %v", n, err)
		}
		for _, pair := range [][2]int{{0, 1}, {0, n - 1}, {n / 2, n - 1}, {n - 2, n - 1}} {
			if pair[0] == pair[1] {
				continue
			}
			twice := bytes.Clone(data)
			copy(twice[at[pair[1]]:], data[at[pair[0]]:at[pair[0]]+5])
			var syntax *format.SyntaxError
			if err := (Format{}).Validate(twice, format.Options{}); !errors.As(err, &syntax) || syntax.Offset != at[pair[1]] {
				t.Errorf("%d keys, number %d again as number %d: got %v, want an error at offset %d", n, pair[0], pair[1], err, at[pair[1]])
			}
		}
		least := testing.AllocsPerRun(3, func() { _ = (Format{}).Validate(data, format.Options{}) })
		if n <= 64 && least != 0 {
			t.Errorf("Validate of %d keys allocates %v times, want 0", n, least)
		}
	}
}

func TestDepth(t *testing.T) {
	for _, row := range []struct{ levels, max int }{{32, 0}, {5, 5}, {256, 1000}} {
		nested := append(bytes.Repeat([]byte{0x81}, row.levels), 0x00)
		if err := (Format{}).Validate(nested, format.Options{MaxDepth: row.max}); err != nil {
			t.Errorf("%d levels, MaxDepth %d: %v", row.levels, row.max, err)
		}
		nested = append([]byte{0x81}, nested...)
		if err := (Format{}).Validate(nested, format.Options{MaxDepth: row.max}); err == nil {
			t.Errorf("%d levels, MaxDepth %d: accepted", row.levels+1, row.max)
		}
	}
	deep := append(bytes.Repeat([]byte{0x81}, 1<<20), 0x00)
	if s, err := (Format{}).Lookup(deep, field.Path{}); err != nil || s.End != len(deep) {
		t.Errorf("a span of definite arrays of any depth: got %+v, %v", s, err)
	}
	open := append(bytes.Repeat([]byte{0x9f}, 1<<20), bytes.Repeat([]byte{0xff}, 1<<20)...)
	var syntax *format.SyntaxError
	if _, err := (Format{}).Lookup(open, field.Path{}); !errors.As(err, &syntax) {
		t.Errorf("indefinite arrays, 2^20 deep: got %v, want *format.SyntaxError", err)
	}
}

func TestFindTooFewSpans(t *testing.T) {
	set, err := field.NewSet(field.MustParse("a"), field.MustParse("b"))
	if err != nil {
		t.Fatal(err)
	}
	if err := (Format{}).Find([]byte{0xa0}, set, make([]field.Span, 1)); err == nil {
		t.Error("one span for two paths was accepted")
	}
}

// TestLimitScan checks that limitScan, which the benchmark uses, finds the key.
func TestLimitScan(t *testing.T) {
	doc := sevenKinds(t, 63, false)
	s, err := Format{}.Lookup(doc, field.MustParse("32"))
	start, end := limitScan(doc, 32)
	if err != nil || s.Head != start || s.End != end {
		t.Errorf("limit scan finds %d..%d, Lookup %+v, %v", start, end, s, err)
	}
	if !bytes.Equal(doc[start:end], encode(t, -1)) {
		t.Errorf("got % x", doc[start:end])
	}
}
