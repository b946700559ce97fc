package msgpack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// TestUnusualEncodings looks up keys that do not have the shortest form. It also looks up keys in values that are no
// maps.
func TestUnusualEncodings(t *testing.T) {
	for _, row := range []struct {
		name, data, path string
		head             int
		err              error
	}{
		{"fixstr", "\x81\xa1k\x05", "k", 3, nil},
		{"str 8", "\x81\xd9\x01k\x05", "k", 4, nil},
		{"str 16", "\x81\xda\x00\x01k\x05", "k", 5, nil},
		{"str 32", "\x81\xdb\x00\x00\x00\x01k\x05", "k", 7, nil},
		{"map 16", "\xde\x00\x01\xa1k\x05", "k", 5, nil},
		{"map 32", "\xdf\x00\x00\x00\x01\xa1k\x05", "k", 7, nil},
		{"integer key", "\x81\x05\x06", "5", 2, nil},
		{"integer key as uint 64", "\x81\xcf\x00\x00\x00\x00\x00\x00\x00\x05\x06", "5", 10, nil},
		{"integer key as int 16", "\x81\xd1\x00\x05\x06", "5", 4, nil},
		{"negative integer key", "\x81\xfb\x06", "-5", 2, nil},
		{"negative integer key as int 32", "\x81\xd2\xff\xff\xff\xfb\x06", "-5", 6, nil},
		{"negative is not positive", "\x81\xfb\x06", "5", 0, field.ErrNotFound},
		{"largest key", "\x81\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x06", "18446744073709551615", 10, nil},
		{"largest key is not -1", "\x81\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x06", "-1", 0, field.ErrNotFound},
		{"least key", "\x81\xd3\x80\x00\x00\x00\x00\x00\x00\x00\x06", "-9223372036854775808", 10, nil},
		{"below the least key", "\x81\xd3\x80\x00\x00\x00\x00\x00\x00\x00\x06", "-9223372036854775809", 0, field.ErrNotFound},
		{"above the largest key", "\x81\x00\x06", "18446744073709551616", 0, field.ErrNotFound},
		{"a leading zero is a name", "\x81\x05\x06", "05", 0, field.ErrNotFound},
		{"digits as text", "\x81\xa15\x06", "5", 3, nil},
		{"first of two", "\x82\xa1k\x05\xa1k\x06", "k", 3, nil},
		{"a byte string is no name", "\x81\xc4\x01k\x05", "k", 0, field.ErrNotFound},
		{"past a key that is a map", "\x82\x81\xa1k\x01\x02\xa1k\x05", "k", 8, nil},
		{"past an extension", "\x82\xa1j\xc7\x02\x05kk\xa1k\x05", "k", 10, nil},
		{"index", "\x93\x01\x92\x02\x03\x04", "2", 5, nil},
		{"index in array 32", "\xdd\x00\x00\x00\x02\x01\x04", "1", 6, nil},
		{"index behind the end", "\x91\x01", "1", 0, field.ErrNotFound},
		{"name in an array", "\x91\x01", "k", 0, field.ErrNotFound},
		{"inside a number", "\x05", "k", 0, field.ErrNotFound},
		{"nothing", "", "k", 0, io.ErrUnexpectedEOF},
		{"cut in a key", "\x81\xa2k", "k", 0, io.ErrUnexpectedEOF},
		{"cut in the value", "\x81\xa1k\xcd\x01", "k", 0, io.ErrUnexpectedEOF},
		{"more items claimed than there are bytes", "\x82\xa1j\xdd\xff\xff\xff\xff\x00", "k", 0, io.ErrUnexpectedEOF},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := field.MustParse(row.path)
			s, err := Format{}.Lookup([]byte(row.data), p)
			if !errors.Is(err, row.err) || s.Head != row.head {
				t.Errorf("got %+v, %v, want Head %d, %v", s, err, row.head, row.err)
			}
			set, err := field.NewSet(p)
			if err != nil {
				t.Fatal(err)
			}
			spans := make([]field.Span, 1)
			if err := (Format{}).Find([]byte(row.data), set, spans); errors.Is(row.err, io.ErrUnexpectedEOF) != errors.Is(err, io.ErrUnexpectedEOF) || spans[0] != s {
				t.Errorf("Find: got %+v, %v, Lookup has %+v", spans[0], err, s)
			}
		})
	}
}

// TestPatchForms checks that Patch writes each type family in its shortest form.
func TestPatchForms(t *testing.T) {
	for _, row := range []struct {
		name, old string
		v         field.Value
		want      string
	}{
		{"positive fixint", "\xcd\x01\x00", field.Value{Kind: field.Int, Int: 127}, "\x7f"},
		{"uint 8", "\x00", field.Value{Kind: field.Int, Int: 128}, "\xcc\x80"},
		{"uint 16", "\x00", field.Value{Kind: field.Int, Int: 256}, "\xcd\x01\x00"},
		{"uint 32", "\x00", field.Value{Kind: field.Int, Int: 1 << 16}, "\xce\x00\x01\x00\x00"},
		{"uint 64", "\x00", field.Value{Kind: field.Int, Int: 1 << 32}, "\xcf\x00\x00\x00\x01\x00\x00\x00\x00"},
		{"largest", "\x00", field.Value{Kind: field.Int, Int: -1, Unsigned: true}, "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"},
		{"negative fixint", "\x00", field.Value{Kind: field.Int, Int: -32}, "\xe0"},
		{"int 8", "\x00", field.Value{Kind: field.Int, Int: -33}, "\xd0\xdf"},
		{"int 16", "\x00", field.Value{Kind: field.Int, Int: -129}, "\xd1\xff\x7f"},
		{"int 32", "\x00", field.Value{Kind: field.Int, Int: -32769}, "\xd2\xff\xff\x7f\xff"},
		{"int 64", "\x00", field.Value{Kind: field.Int, Int: -1 << 63}, "\xd3\x80\x00\x00\x00\x00\x00\x00\x00"},
		{"float 32 becomes float 64", "\xca\x3f\xc0\x00\x00", field.Value{Kind: field.Float, Float: 1.5}, "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"},
		{"integer where a float was", "\xca\x3f\xc0\x00\x00", field.Value{Kind: field.Int, Int: 2}, "\xcb\x40\x00\x00\x00\x00\x00\x00\x00"},
		{"text", "\xda\x00\x01k", field.Value{Kind: field.Text, Bytes: []byte("ab")}, "\xa2ab"},
		{"text where bytes were", "\xc4\x00", field.Value{Kind: field.Text, Bytes: []byte("ab")}, "\xc4\x02ab"},
		{"bool", "\xc3", field.Value{Kind: field.Bool}, "\xc2"},
		{"anything where nil was", "\xc0", field.Value{Kind: field.Bytes, Bytes: []byte{7}}, "\xc4\x01\x07"},
		{"nil by nil", "\xc0", field.Value{Kind: field.Null}, "\xc0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Format{}.Patch(nil, []byte("\x92"+row.old+"\x01"), field.MustParse("0"), row.v)
			if want := "\x92" + row.want + "\x01"; err != nil || string(got) != want {
				t.Errorf("got % x, %v, want % x", got, err, want)
			}
		})
	}
	var mismatch *format.TypeError
	if got, err := (Format{}).Patch(nil, []byte("\xd4\x05\x01"), field.Path{}, field.Value{Kind: field.Int}); !errors.As(err, &mismatch) {
		t.Errorf("an extension by an integer: got % x, %v, want *format.TypeError", got, err)
	}
}

func TestFoldKeys(t *testing.T) {
	for _, row := range []struct {
		a, b   string
		folded bool
	}{{"id", "ID", true}, {"deviceName", "devicename", true}, {"a[", "a{", false}, {"é", "É", false}} {
		data := []byte{byteFixMap | 2}
		for _, k := range []string{row.a, row.b} {
			data = append(value(data, field.Value{Kind: field.Text, Bytes: []byte(k)}), 0)
		}
		if err := (Format{}).Validate(data, format.Options{}); err != nil {
			t.Errorf("%q and %q: %v", row.a, row.b, err)
		}
		if err := (Format{}).Validate(data, format.Options{FoldKeys: true}); (err != nil) != row.folded {
			t.Errorf("FoldKeys, %q and %q: got %v, want refused: %v", row.a, row.b, err, row.folded)
		}
	}
}

// TestManyKeys tests maps of several sizes, with a duplicate key at several places.
func TestManyKeys(t *testing.T) {
	for _, n := range []int{2, 64, 65, 300, 200000} {
		data := binary.BigEndian.AppendUint32([]byte{byteMap16 + 1}, uint32(n))
		var at []int
		for i := range n {
			at = append(at, len(data))
			data = append(value(data, field.Value{Kind: field.Int, Int: int64(1000000 + i)}), 0)
		}
		if err := (Format{}).Validate(data, format.Options{}); err != nil {
			t.Fatalf("%d keys: %v", n, err)
		}
		for _, pair := range [][2]int{{0, n - 1}, {n - 2, n - 1}} {
			twice := bytes.Clone(data)
			copy(twice[at[pair[1]]:], data[at[pair[0]]:at[pair[0]]+5])
			var syntax *format.SyntaxError
			if err := (Format{}).Validate(twice, format.Options{}); !errors.As(err, &syntax) || syntax.Offset != at[pair[1]] {
				t.Errorf("%d keys, number %d again as number %d: got %v, want an error at offset %d", n, pair[0], pair[1], err, at[pair[1]])
			}
		}
		if allocs := testing.AllocsPerRun(3, func() { _ = (Format{}).Validate(data, format.Options{}) }); n <= 64 && allocs != 0 {
			t.Errorf("Validate of %d keys allocates %v times, want 0", n, allocs)
		}
	}
}

func TestDepth(t *testing.T) {
	for _, row := range []struct{ levels, max int }{{32, 0}, {5, 5}, {256, 1000}} {
		nested := append(bytes.Repeat([]byte{0x91}, row.levels), 0x00)
		if err := (Format{}).Validate(nested, format.Options{MaxDepth: row.max}); err != nil {
			t.Errorf("%d levels, MaxDepth %d: %v", row.levels, row.max, err)
		}
		nested = append([]byte{0x91}, nested...)
		if err := (Format{}).Validate(nested, format.Options{MaxDepth: row.max}); err == nil {
			t.Errorf("%d levels, MaxDepth %d: accepted", row.levels+1, row.max)
		}
	}
	deep := append(bytes.Repeat([]byte{0x91}, 1<<20), 0x00)
	if s, err := (Format{}).Lookup(deep, field.Path{}); err != nil || s.End != len(deep) {
		t.Errorf("a span of 2^20 arrays in each other: got %+v, %v", s, err)
	}
	if err := (Format{}).Walk(deep[1<<20-1<<12:], func(field.Step, int, field.Span) error { return nil }); err == nil {
		t.Error("Walk of 2^12 arrays in each other was accepted")
	}
}

func TestFindTooFewSpans(t *testing.T) {
	set, err := field.NewSet(field.MustParse("a"), field.MustParse("b"))
	if err != nil {
		t.Fatal(err)
	}
	if err := (Format{}).Find([]byte{0x80}, set, make([]field.Span, 1)); err == nil {
		t.Error("one span for two paths was accepted")
	}
}

func TestForeignSpan(t *testing.T) {
	data := []byte("\xa3abc")
	for _, s := range []field.Span{{Head: 0, Off: 1, End: 9, Kind: field.Text}, {Head: -1, Off: 0, End: 1, Kind: field.Text}, {Head: 0, Off: 1, End: 2, Kind: field.Text}} {
		if v, err := (Format{}).Value(data, s, field.AnyType); err == nil {
			t.Errorf("Value at %+v of another message: got %+v", s, v)
		}
	}
	if text, ok := (Format{}).View(data, field.Span{Head: 0, Off: 1, End: 9, Kind: field.Text}); ok {
		t.Errorf("View behind the end: got %q", text)
	}
}
