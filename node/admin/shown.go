package admin

import (
	"encoding/hex"
	"unicode"
	"unicode/utf8"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/internal/transcode"
)

// maxShown is the size, in bytes, of the largest payload that is shown. Of a larger one only the size is shown.
const maxShown = 64 << 10

// shown writes payloads as JSON.
type shown struct{ formats *format.ByType }

// typeName returns the name of a format, or type(200) where the node has no format of that number.
func (s shown) typeName(t ferry.Type) string {
	if f := s.formats[t]; f != nil {
		return f.Name()
	}
	return t.String()
}

// json appends payload as JSON if its format is known and it is valid. ok is false if not; b is then unchanged.
func (s shown) json(b []byte, t ferry.Type, payload []byte) (_ []byte, ok bool) {
	f := s.formats[t]
	if f == nil || f.Validate(payload, format.Options{}) != nil {
		return b, false
	}
	span, err := f.Lookup(payload, field.Path{})
	if err != nil {
		return b, false
	}
	out, err := transcode.JSON(b, payload, f, span)
	if err != nil {
		return b, false
	}
	return out, true
}

// payload appends a payload as JSON, else as hex text.
func (s shown) payload(b []byte, t ferry.Type, payload []byte) []byte {
	if out, ok := s.json(b, t, payload); ok {
		return out
	}
	b = append(b, '"')
	b = hex.AppendEncode(b, payload)
	return append(b, '"')
}

// readable returns a payload as JSON, else as text if it is printable, else as hex, and which it is: json, text or hex.
func (s shown) readable(t ferry.Type, payload []byte) (text, as string) {
	if out, ok := s.json(nil, t, payload); ok {
		return string(out), "json"
	}
	if printableText(payload) {
		return string(payload), "text"
	}
	return hex.EncodeToString(payload), "hex"
}

// printableText reports whether b is text without control characters, but for line ends and tabs.
func printableText(b []byte) bool {
	for rest := b; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
		rest = rest[n:]
	}
	return true
}
