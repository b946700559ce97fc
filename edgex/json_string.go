package edgex

import (
	"bytes"
	"encoding/binary"
	stdjson "encoding/json"

	"example.com/ferry/format/json"
)

// quoted finds the end of a string whose content starts at pos. It returns the offset of the closing quote, and whether the
// string has escapes.
func (d *jsonDocument) quoted(pos int) (end int, escaped bool, err error) {
	return json.SkipString(d.data, pos)
}

// unescaped returns the text between the quotes at open and end. The text is a part of the message, or a copy if it has
// escapes.
func (d *jsonDocument) unescaped(open, end int) ([]byte, error) {
	raw := d.data[open+1 : end]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, nil
	}
	var text string
	if err := stdjson.Unmarshal(d.data[open:end+1], &text); err != nil {
		return nil, syntax("json", open, err.Error())
	}
	return []byte(text), nil
}

// appendQuoted appends text as a JSON string. It escapes only the characters that RFC 8259, section 7, requires. Eight bytes
// that need no escape are copied as one word.
func appendQuoted(dst []byte, text string) []byte {
	const digits = "0123456789abcdef"
	dst = append(append(dst, '"'), text...)
	plain := dst[len(dst)-len(text):]
	for len(plain) >= 8 && !hasSpecialByte(binary.LittleEndian.Uint64(plain)) {
		plain = plain[8:]
	}
	dst = dst[:len(dst)-len(plain)]
	for i := len(text) - len(plain); i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// Words of eight bytes with the same value in each byte.
const (
	quotes      = '"' * ones
	backslashes = '\\' * ones
)

// zeroBytes sets the high bit of each zero byte in word. It may also set the high bit of bytes above the lowest zero byte.
func zeroBytes(word uint64) uint64 { return (word - ones) &^ word & highs }

// hasSpecialByte reports whether word contains a byte that may need an escape in a JSON string.
func hasSpecialByte(word uint64) bool {
	return (word-' '*ones)&^word&highs|zeroBytes(word^quotes)|zeroBytes(word^backslashes) != 0
}
