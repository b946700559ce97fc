package json

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"example.com/ferry/format"
)

// Eight bytes are looked at as one word: a byte's high bit in the result is set where that byte is searched for. Borrows
// can only make bytes above the first hit wrong, and only the first one is used.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// tokenEnds marks the first quote or backslash in w.
func tokenEnds(w uint64) uint64 {
	return (((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones)) &^ w & highs
}

// skipSpace passes white space. RFC 8259, section 2.
func skipSpace(data []byte, pos int) int {
	for pos < len(data) && data[pos] <= ' ' && (data[pos] == ' ' || data[pos] == '\n' || data[pos] == '\t' || data[pos] == '\r') {
		pos++
	}
	return pos
}

// skipString returns the offset of the quote that ends the string whose content starts at pos, and whether there is a
// backslash in it.
func skipString(data []byte, pos int) (end int, escaped bool, err error) {
	start := pos
	for ; pos <= len(data)-8 && pos < start+shortText; pos += 8 {
		if hit := tokenEnds(binary.LittleEndian.Uint64(data[pos:])); hit != 0 {
			pos += bits.TrailingZeros64(hit) / 8
			break
		}
	}
	if end = quoteEnd(data, pos); end < 0 {
		return 0, false, io.ErrUnexpectedEOF
	}
	return end, bytes.IndexByte(data[pos:end], '\\') >= 0, nil
}

// What a byte means outside of a string.
const (
	inside = iota // a number or a literal goes on
	closer        // ] or }
	opener        // [ or {
	quote
	comma // also colon and white space: a number or a literal ends
)

var class = [256]uint8{'"': quote, '{': opener, '[': opener, '}': closer, ']': closer, ',': comma, ':': comma, ' ': comma, '\t': comma, '\n': comma, '\r': comma}

// skipValue returns the offset behind the value at pos. Of a container it sees strings and brackets only.
func skipValue(data []byte, pos int) (int, error) {
	if pos >= len(data) {
		return 0, io.ErrUnexpectedEOF
	}
	switch class[data[pos]] {
	case quote:
		if at := pos + 1; at+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[at:])
			if hit := tokenEnds(w); hit != 0 {
				if at += bits.TrailingZeros64(hit) / 8; data[at] == '"' {
					return at + 1, nil
				}
			}
		}
		end, _, err := skipString(data, pos+1)
		return end + 1, err
	case opener:
		return skipContainer(data, pos)
	case inside:
		for pos++; pos < len(data) && class[data[pos]] == inside; pos++ {
		}
		return pos, nil
	}
	return 0, unexpectedByte(data, pos, "a value")
}

func skipContainer(data []byte, pos int) (int, error) {
	for depth := 0; pos < len(data); pos++ {
		switch class[data[pos]] {
		case quote:
			end, _, err := skipString(data, pos+1)
			if err != nil {
				return 0, err
			}
			pos = end
		case opener:
			depth++
		case closer:
			if depth--; depth == 0 {
				return pos + 1, nil
			}
		}
	}
	return 0, io.ErrUnexpectedEOF
}

func unexpectedByte(data []byte, pos int, want string) error {
	return syntaxError(pos, fmt.Sprintf("%q where %s should stand", data[pos], want))
}

func syntaxError(offset int, reason string) error {
	return &format.SyntaxError{Format: "json", Offset: offset, Reason: reason}
}
