package json

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape appends raw, the content of a string, with its escapes decoded. An escape that RFC 8259, section 7, does not
// define is copied. A lone surrogate becomes U+FFFD. The appended text is never longer than raw.
func unescape(dst, raw []byte) []byte {
	for len(raw) > 0 {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		var text [utf8.UTFMax]byte
		n, used := decodeEscape(text[:], raw[i:])
		dst = append(dst, text[:n]...)
		raw = raw[i+used:]
	}
	return dst
}

// equalUnescaped reports whether raw, the content of a string, equals name after decoding the escapes. It copies
// nothing.
func equalUnescaped(raw []byte, name string) bool {
	for len(raw) > 0 {
		if raw[0] != '\\' {
			if name == "" || raw[0] != name[0] {
				return false
			}
			raw, name = raw[1:], name[1:]
			continue
		}
		var text [utf8.UTFMax]byte
		n, used := decodeEscape(text[:], raw)
		if n > len(name) || string(text[:n]) != name[:n] {
			return false
		}
		raw, name = raw[used:], name[n:]
	}
	return name == ""
}

// decodeEscape decodes the escape at the start of raw and writes the character to dst. n is the length of the
// character, used is the length of the escape, both in bytes.
func decodeEscape(dst, raw []byte) (n, used int) {
	if len(raw) < 2 {
		return copy(dst, raw), len(raw)
	}
	switch c := raw[1]; c {
	case '"', '\\', '/':
		dst[0] = c
	case 'b':
		dst[0] = '\b'
	case 'f':
		dst[0] = '\f'
	case 'n':
		dst[0] = '\n'
	case 'r':
		dst[0] = '\r'
	case 't':
		dst[0] = '\t'
	case 'u':
		r, ok := hex4(raw[2:])
		if !ok {
			return copy(dst, raw[:2]), 2
		}
		used = 6
		if utf16.IsSurrogate(r) {
			low, _ := lowSurrogate(raw[6:])
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				used = 12
			}
		}
		return utf8.EncodeRune(dst, r), used
	default:
		return copy(dst, raw[:2]), 2
	}
	return 1, 2
}

// lowSurrogate decodes the second escape of a surrogate pair: `\u` and four hex digits.
func lowSurrogate(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	return hex4(raw[2:])
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case (c|0x20)-'a' <= 5:
			r = r<<4 | rune((c|0x20)-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

const hexDigits = "0123456789abcdef"

// isPlainChar reports whether c needs no escape.
func isPlainChar(c byte) bool { return c >= ' ' && c != '"' && c != '\\' }

// AppendText appends text in quotes. It escapes only the characters that need it. RFC 8259, section 7. It does not check that text is UTF-8.
func AppendText[T string | []byte](dst []byte, text T) []byte {
	dst = append(append(dst, '"'), text...)
	start := len(dst) - len(text)
	plain := nonASCIIPlainEnd(dst, start)
	dst = dst[:plain]
	for i := plain - start; i < len(text); i++ {
		switch c := text[i]; {
		case isPlainChar(c):
			dst = append(dst, c)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, '"')
}

// encodedTextSize returns the number of bytes that AppendText writes.
func encodedTextSize(text []byte) int {
	n := len(text) + 2
	for _, c := range text {
		switch {
		case isPlainChar(c):
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			n++
		default:
			n += 5
		}
	}
	return n
}
