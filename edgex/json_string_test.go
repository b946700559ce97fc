package edgex

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"example.com/ferry/format/json"
)

// The test puts each special character at each place of texts of many lengths. encoding/json must be able to read the result.
// The end of the string must be found whatever bytes follow the string.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for length := range 90 {
		for _, c := range []string{`"`, `\`, "\n", "\x1f", " ", "!", "#", "[", "]", "\x7f", "é", "\u2028"} {
			for at := 0; at <= length; at += 1 + length/20 {
				text := strings.Repeat("a", at) + c + strings.Repeat("b", length-at)
				quoted := json.AppendText([]byte("before"), text)[len("before"):]
				var got string
				if err := stdjson.Unmarshal(quoted, &got); err != nil || got != text {
					t.Fatalf("%q is written as %s: %q, %v", text, quoted, got, err)
				}
				if want := 2 + len(text) + strings.Count(text, `"`) + strings.Count(text, `\`) + strings.Count(text, "\n") + 5*strings.Count(text, "\x1f"); len(quoted) != want {
					t.Fatalf("%q is written as %s: %d bytes, want %d", text, quoted, len(quoted), want)
				}
				d := jsonDocument{data: append(bytes.Clone(quoted), `,"next":"x"}`...)}
				end, escaped, err := json.SkipString(d.data, 1)
				if err != nil || end != len(quoted)-1 || !escaped && bytes.IndexByte(quoted, '\\') >= 0 {
					t.Fatalf("%s ends at %d, escaped %v, %v", quoted, end, escaped, err)
				}
				d.data = quoted[:len(quoted)-1]
				if end, _, err := json.SkipString(d.data, 1); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("%s, cut, ends at %d, %v", quoted, end, err)
				}
			}
		}
	}
}
