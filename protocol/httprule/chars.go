package httprule

import (
	"encoding/binary"
	"math/bits"
)

// The classes of characters. A byte may belong to several classes.
const (
	TokenChar      = 1 << iota // characters of a token. RFC 9110, section 5.6.2
	LowerTokenChar             // characters of a token without upper case: a field name of HTTP/2. RFC 9113, section 8.2.1
	VisibleChar                // visible ASCII but '#': where a target ends. A fragment is no part of a target (RFC 9112, section 3.2)
	TargetChar                 // VisibleChar without "<>\, which no URI contains and which servers read differently. RFC 3986, section 2
	HostChar                   // characters of a DNS name or IPv4 address; RFC 3986 also allows sub-delims and escapes, but no DNS name contains them
	HexChar
	DigitChar
	TextChar // characters of a reason phrase, a field value or a chunk extension: no control character but HTAB (RFC 9110, section 5.5)
)

var chars = func() (t [256]uint8) {
	for i := range t {
		c := byte(i)
		digit := c >= '0' && c <= '9'
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		switch {
		case digit:
			t[i] |= TokenChar | LowerTokenChar | HostChar | HexChar | DigitChar
		case letter:
			t[i] |= TokenChar | HostChar
			if c >= 'a' {
				t[i] |= LowerTokenChar
			}
			if c|0x20 <= 'f' {
				t[i] |= HexChar
			}
		}
		if c > ' ' && c < 0x7f && c != '#' {
			t[i] |= VisibleChar | TargetChar
		}
		if c >= ' ' && c != 0x7f || c == '\t' {
			t[i] |= TextChar
		}
	}
	for _, c := range `"<>\` {
		t[c] &^= TargetChar
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] |= TokenChar | LowerTokenChar
	}
	for _, c := range "-._~" {
		t[c] |= HostChar
	}
	return t
}()

// Is reports whether c belongs to one of the classes.
func Is(c, classes uint8) bool { return chars[c]&classes != 0 }

// All reports whether each byte of p belongs to one of the classes.
func All(p []byte, classes uint8) bool { return Past(p, 0, classes) == len(p) }

// Past returns the offset of the first byte at or after i that is not of class kind, or len(data).
func Past(data []byte, i int, kind uint8) int {
	for i < len(data) && chars[data[i]]&kind != 0 {
		i++
	}
	return i
}

// PastSpace returns the offset of the first byte at or after i that is neither SP nor HTAB.
func PastSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t') {
		i++
	}
	return i
}

// PastText returns the offset of the first control character other than HTAB at or after i, or len(data). It tests eight bytes
// in one word. A subtraction finds the lowest byte below 0x20 and the lowest 0x7f in the word exactly.
func PastText(data []byte, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	for i+8 <= len(data) {
		w := binary.LittleEndian.Uint64(data[i:])
		del := w ^ 0x7f*ones
		hit := ((w-0x20*ones)&^w | (del-ones)&^del) & highs
		if hit == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(hit) >> 3
		if data[i] != '\t' {
			return i
		}
		i++
	}
	return Past(data, i, TextChar)
}

// TrimTrailingSpace returns the end of data[start:end] without trailing SP and HTAB.
func TrimTrailingSpace(data []byte, start, end int) int {
	for end > start && (data[end-1] == ' ' || data[end-1] == '\t') {
		end--
	}
	return end
}

// EqualFold reports whether name equals lower if the case of letters is ignored. name consists of token characters, lower of
// lower-case letters, digits and hyphens. So setting bit 5 turns no other character of name into one of lower.
func EqualFold(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i := range name {
		if name[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// IsText reports whether p has no control character but HTAB.
func IsText(p []byte) bool { return PastText(p, 0) == len(p) }

// EqualFoldTokens reports whether two tokens are equal if the case of letters is ignored.
func EqualFoldTokens(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && (a[i]^b[i] != 0x20 || a[i]|0x20 < 'a' || a[i]|0x20 > 'z') {
			return false
		}
	}
	return true
}
