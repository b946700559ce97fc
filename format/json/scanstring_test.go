package json

import (
	"bytes"
	"testing"
)

// TestPlainEnd uses strings up to several blocks long, and puts one byte that is not plain at each position.
func TestPlainEnd(t *testing.T) {
	t.Parallel()
	for n := range 140 {
		text := bytes.Repeat([]byte("~ !#[]^"), n/7+1)[:n]
		if got := plainEnd(text, 0); got != n {
			t.Fatalf("%d plain bytes: got %d", n, got)
		}
		for i, was := range text {
			for _, c := range []byte{'"', '\\', 0, '\n', 0x1f, 0x80, 0xff} {
				text[i] = c
				if got := plainEnd(text, 0); got != i {
					t.Fatalf("%d bytes, 0x%02x at %d: got %d", n, c, i, got)
				}
				want := i
				if c >= 0x80 {
					want = n
				}
				if got := nonASCIIPlainEnd(text, 0); got != want {
					t.Fatalf("%d bytes, 0x%02x at %d: wideEnd gives %d, want %d", n, c, i, got, want)
				}
			}
			text[i] = was
		}
	}
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	long := string(bytes.Repeat([]byte("x"), 100))
	for _, row := range []struct {
		name, text string
		want       int // -1 if the string does not end
		escaped    bool
	}{
		{"nothing", ``, -1, false},
		{"empty", `"`, 0, false},
		{"short", `abc"d"`, 3, false},
		{"an escaped quote", `a\"b"`, 4, true},
		{"an escaped backslash", `a\\"b"`, 3, true},
		{"three backslashes", `a\\\"b"`, 6, true},
		{"long", long + `"` + long, 100, false},
		{"long, an escaped quote", long + `\"` + long + `"`, 202, true},
		{"long, an escaped backslash", long + `\\"` + long, 102, true},
		{"a backslash where the words end", long[:31] + `\\"`, 33, true},
		{"an escaped quote where the words end", long[:31] + `\""`, 33, true},
		{"long, it does not end", long + `\"`, -1, false},
	} {
		end, escaped, err := skipString([]byte(row.text), 0)
		if (err != nil) != (row.want < 0) || err == nil && end != row.want || escaped != row.escaped {
			t.Errorf("%s: got %d, %v, %v, want %d, %v", row.name, end, escaped, err, row.want, row.escaped)
		}
	}
}
