package bolt

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const null = "\xff\xff\xff\xff"

func pairs(kv ...string) (h Header) {
	for i := 0; i < len(kv); i += 2 {
		h = AppendPair(h, kv[i], kv[i+1])
	}
	return h
}

func TestLookup(t *testing.T) {
	three := pairs("a", "1", Service, "com.test.Echo:1.0", "empty", "")
	rows := []struct {
		name  string
		h     Header
		key   string
		value string
		ok    bool
	}{
		{"first", three, "a", "1", true},
		{"second", three, Service, "com.test.Echo:1.0", true},
		{"empty value", three, "empty", "", true},
		{"absent", three, Method, "", false},
		{"prefix of a key", three, "servic", "", false},
		{"empty key, absent", three, "", "", false},
		{"empty key", pairs("", "x"), "", "x", true},
		{"nothing", nil, "a", "", false},
		{"null value", Header("\x00\x00\x00\x01a" + null), "a", "", false},
		{"null key", Header(null + "\x00\x00\x00\x01a"), "", "", false},
		{"behind a null key", append(Header(null+"\x00\x00\x00\x01x"), pairs("a", "1")...), "a", "1", true},
		{"behind a null value", append(Header("\x00\x00\x00\x01x"+null), pairs("a", "1")...), "a", "1", true},
		{"another key twice", pairs("x", "1", "x", "2", "a", "3"), "a", "3", true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			value, ok, err := row.h.Lookup(row.key)
			if string(value) != row.value || ok != row.ok || err != nil {
				t.Errorf("got %q, %v, %v, want %q, %v", value, ok, err, row.value, row.ok)
			}
			if cap(value) != len(value) {
				t.Errorf("%d bytes behind the value can be appended over", cap(value)-len(value))
			}
		})
	}
}

func TestDamagedHeader(t *testing.T) {
	good := pairs("a", "1")
	rows := []struct {
		name   string
		h      Header
		offset int
		reason string
	}{
		{"half a length", append(slices.Clone(good), 0, 0, 0), 10, "3 bytes where a length"},
		{"no value", append(slices.Clone(good), "\x00\x00\x00\x01b"...), 15, "0 bytes where a length"},
		{"null key alone", append(slices.Clone(good), null...), 14, "0 bytes where a length"},
		{"too long", append(slices.Clone(good), "\x00\x00\x00\x02b"...), 10, "length 2 exceeds the 1 bytes left"},
		{"negative", append(slices.Clone(good), "\xff\xff\xff\xfe1234"...), 10, "length -2 exceeds the 4 bytes left"},
		{"greatest", append(slices.Clone(good), "\x7f\xff\xff\xff"...), 10, "length 2147483647 exceeds the 0 bytes left"},
		{"value too long", Header("\x00\x00\x00\x01a\x00\x00\x00\x09x"), 5, "length 9 exceeds the 1 bytes left"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			value, ok, err := row.h.Lookup("a")
			var syntax *SyntaxError
			if value != nil || ok || !errors.As(err, &syntax) || syntax.Offset != row.offset || !strings.Contains(syntax.Reason, row.reason) {
				t.Errorf("Lookup: %q, %v, %v, want %s at offset %d", value, ok, err, row.reason, row.offset)
			}
			var last error
			for _, err := range row.h.All() {
				last = err
			}
			if last == nil || last.Error() != err.Error() {
				t.Errorf("All: %v, want %v", last, err)
			}
		})
	}
}

// TestDuplicateKey: Lookup returns no value of a duplicate key, because Java uses the last value and MOSN the first.
func TestDuplicateKey(t *testing.T) {
	for name, h := range map[string]Header{
		"two values":    pairs("a", "1", "b", "2", "a", "3"),
		"the same":      pairs("a", "1", "a", "1"),
		"null first":    append(Header("\x00\x00\x00\x01a"+null), pairs("a", "1")...),
		"null at last":  append(pairs("a", "1"), "\x00\x00\x00\x01a"+null...),
		"behind others": pairs("x", "", "y", "", "a", "", "a", "1"),
	} {
		if value, ok, err := h.Lookup("a"); value != nil || ok || err == nil || !strings.Contains(err.Error(), `the key "a" is there twice`) {
			t.Errorf("%s: got %q, %v, %v", name, value, ok, err)
		}
	}
}

func TestAll(t *testing.T) {
	h := append(Header(null+"\x00\x00\x00\x01x"), pairs("a", "1", "b", "", "a", "2")...)
	h = append(h, "\x00\x00\x00\x01n"+null...)
	var got []string
	for pair, err := range h.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(pair.Key)+"="+string(pair.Value))
	}
	if want := []string{"a=1", "b=", "a=2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for pair := range h.All() {
		if string(pair.Key) != "a" {
			t.Errorf("got %q first", pair.Key)
		}
		break
	}
}
