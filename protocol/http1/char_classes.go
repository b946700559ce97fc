package http1

import (
	"encoding/binary"
	"math/bits"
)

// The classes of characters. A byte may belong to several classes.
const (
	isToken  = 1 << iota // characters of a token. RFC 9110, section 5.6.2
	isTarget             // characters of a request target: visible ASCII but '#', because a fragment is no part of a target (RFC 9112, section 3.2)
	isHost               // characters of a DNS name or IPv4 address; RFC 3986 also allows sub-delims and escapes, but no DNS name contains them
	isHex
	isDigit
	isText // characters of a reason phrase, a field value or a chunk extension: no control character but HTAB (RFC 9110, section 5.5)
)

var chars = func() (t [256]uint8) {
	for i := range t {
		c := byte(i)
		digit := c >= '0' && c <= '9'
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		switch {
		case digit:
			t[i] |= isToken | isHost | isHex | isDigit
		case letter:
			t[i] |= isToken | isHost
			if c|0x20 <= 'f' {
				t[i] |= isHex
			}
		}
		if c > ' ' && c < 0x7f && c != '#' {
			t[i] |= isTarget
		}
		if c >= ' ' && c != 0x7f || c == '\t' {
			t[i] |= isText
		}
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] |= isToken
	}
	for _, c := range "-._~" {
		t[c] |= isHost
	}
	return t
}()

// skip returns the offset of the first byte at or after i that is not of class kind, or len(data).
func skip(data []byte, i int, kind uint8) int {
	for i < len(data) && chars[data[i]]&kind != 0 {
		i++
	}
	return i
}

// skipSpace returns the offset of the first byte at or after i that is neither SP nor HTAB.
func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t') {
		i++
	}
	return i
}

// skipText returns the offset of the first control character other than HTAB at or after i, or len(data). It tests eight bytes
// in one word. A subtraction finds the lowest byte below 0x20 and the lowest 0x7f in the word exactly.
func skipText(data []byte, i int) int {
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
	return skip(data, i, isText)
}

// trimTrailingSpace returns the end of data[start:end] without trailing SP and HTAB.
func trimTrailingSpace(data []byte, start, end int) int {
	for end > start && (data[end-1] == ' ' || data[end-1] == '\t') {
		end--
	}
	return end
}

// equalFold reports whether name equals lower if the case of letters is ignored. name consists of token characters, lower of
// lower-case letters, digits and hyphens. So setting bit 5 turns no other character of name into one of lower.
func equalFold(name []byte, lower string) bool {
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

// equalFoldTokens reports whether two tokens are equal if the case of letters is ignored.
func equalFoldTokens(a, b []byte) bool {
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
