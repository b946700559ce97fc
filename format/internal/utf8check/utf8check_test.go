package utf8check

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

func TestBad(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		want       int
	}{
		{"nothing", "", -1},
		{"ASCII", "pump-1", -1},
		{"one of each length", "aé中😀", -1},
		{"a lone byte", "pump\xff1", 4},
		{"a surrogate", "\xed\xa0\x80", 0},
		{"an overlong form", "a\xc0\xaf", 1},
		{"cut off", "a中"[:3], 1},
		{"a real U+FFFD before a bad byte", "\ufffd\x80", 3},
	} {
		if got := Bad([]byte(row.text)); got != row.want {
			t.Errorf("%s: got %d, want %d", row.name, got, row.want)
		}
	}
}

// TestEachLengthAndPlace uses texts up to several blocks long, and puts one byte that is not ASCII at each position.
func TestEachLengthAndPlace(t *testing.T) {
	t.Parallel()
	for n := range 100 {
		b := bytes.Repeat([]byte{'x'}, n)
		if !ASCII(b) || Bad(b) != -1 {
			t.Fatalf("%d bytes of ASCII: got %v, %d", n, ASCII(b), Bad(b))
		}
		for i := range b {
			b[i] = 0x80
			if ASCII(b) || Bad(b) != i {
				t.Fatalf("%d bytes, the bad one at %d: got %v, %d", n, i, ASCII(b), Bad(b))
			}
			b[i] = 'x'
		}
	}
}

func FuzzBad(f *testing.F) {
	f.Add([]byte("pump\xff1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		bad := Bad(b)
		if (bad < 0) != utf8.Valid(b) {
			t.Fatalf("% x: got %d, valid %v", b, bad, utf8.Valid(b))
		}
		if bad >= 0 && !utf8.Valid(b[:bad]) {
			t.Fatalf("% x: got %d, and something bad stands before it", b, bad)
		}
	})
}
