package http1

import (
	"encoding/binary"
	"math/bits"
)

// The classes of characters: a byte may be part of these.
const (
	isToken  = 1 << iota // RFC 9110, section 5.6.2
	isTarget             // visible ASCII but '#': a fragment is no part of a target (RFC 9112, section 3.2)
	isHost               // of a name or IPv4 address; RFC 3986's sub-delims and escapes are refused, as no DNS name has them
	isHex
	isDigit
	isText // of a reason phrase, a field value or a chunk extension: no control character but HTAB (RFC 9110, section 5.5)
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

// skip returns the offset of the first byte of data at or after i that is not of kind, or len(data).
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

// skipText returns the offset of the first control character other than HTAB at or after i, or len(data). Eight bytes at
// a time: in a word, the lowest byte below 0x20 and the lowest 0x7f are found exactly by the carry of a subtraction.
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

// trim returns the end of data[start:end] without the SP and HTAB it ends with.
func trim(data []byte, start, end int) int {
	for end > start && (data[end-1] == ' ' || data[end-1] == '\t') {
		end--
	}
	return end
}

// equalFold reports whether name, which holds token characters, is lower but for the case of its letters. Setting bit 5
// changes no other token character into one of lower's, which are letters, digits and hyphens.
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

// equalFoldTokens reports whether two tokens differ in the case of their letters at most.
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
