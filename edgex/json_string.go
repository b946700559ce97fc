package edgex

import (
	"bytes"
	"encoding/binary"
	stdjson "encoding/json"
	"io"
	"math/bits"
)

// quoted returns the offset of the quote that ends the string whose content starts at pos, and whether the string may have
// escapes. It searches short strings, such as names and UUIDs, by words, and long ones by bytes.IndexByte.
func (d *jsonDocument) quoted(pos int) (end int, escaped bool, err error) {
	const short = 64 // bytes
	for end = pos; end < pos+short && len(d.data)-end >= 8; end += 8 {
		word := binary.LittleEndian.Uint64(d.data[end:])
		if hits := zeros(word^quotes) | zeros(word^backslashes); hits != 0 {
			end += bits.TrailingZeros64(hits) / 8
			if d.data[end] == '"' {
				return end, false, nil
			}
			break
		}
	}
	for start := pos; end < len(d.data); {
		n := bytes.IndexByte(d.data[end:], '"')
		if n < 0 {
			break
		}
		end += n
		slashes := 0
		for end-slashes > start && d.data[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end, true, nil
		}
		end++
	}
	return 0, false, io.ErrUnexpectedEOF
}

// unescaped returns the text between the quotes at open and end: a part of the message, or a copy if the text has escapes.
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

// appendQuoted appends text as a JSON string, with no more escapes than RFC 8259, section 7, requires. It copies a word at a
// time if no byte of it needs an escape.
func appendQuoted(dst []byte, text string) []byte {
	const digits = "0123456789abcdef"
	dst = append(append(dst, '"'), text...)
	plain := dst[len(dst)-len(text):]
	for len(plain) >= 8 && !special(binary.LittleEndian.Uint64(plain)) {
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

// Words that repeat one byte.
const (
	quotes      = '"' * ones
	backslashes = '\\' * ones
)

// zeros sets the high bit of each byte that is zero in word. Bytes above the lowest zero byte may have it set, too.
func zeros(word uint64) uint64 { return (word - ones) &^ word & highs }

// special reports whether a byte of word must, or may, be escaped in a JSON string.
func special(word uint64) bool {
	return (word-' '*ones)&^word&highs|zeros(word^quotes)|zeros(word^backslashes) != 0
}
