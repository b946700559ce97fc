package traffic

import "unicode/utf8"

// appendEscaped appends text as the content of a JSON string. Most text is sent by clients, so invalid UTF-8 becomes
// \ufffd. All control characters are escaped, including those that JSON allows but a terminal interprets.
func appendEscaped[T string | []byte](b []byte, text T) []byte {
	const digits = "0123456789abcdef"
	done := 0 // text[:done] is already appended
	for i := 0; i < len(text); {
		c, size := text[i], 1
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r := rune(c)
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			if r >= 0xa0 && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		b = append(b, text[done:i]...)
		switch r {
		case '"', '\\':
			b = append(b, '\\', c)
		case utf8.RuneError:
			b = append(b, `\ufffd`...)
		default:
			b = append(b, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		}
		i += size
		done = i
	}
	return append(b, text[done:]...)
}
