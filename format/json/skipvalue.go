package json

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"example.com/ferry/format"
)

// Eight bytes are tested as one word. In the result, the high bit of a byte is set if the byte matches. Borrows can set
// wrong bits only after the first match, and only the first match is used.
const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// quotesAndBackslashes sets the high bit of the first quote or backslash in w.
func quotesAndBackslashes(w uint64) uint64 {
	return (((w ^ lowBits*'"') - lowBits) | ((w ^ lowBits*'\\') - lowBits)) &^ w & highBits
}

// skipSpace skips white space. RFC 8259, section 2.
func skipSpace(data []byte, pos int) int {
	for pos < len(data) && data[pos] <= ' ' && (data[pos] == ' ' || data[pos] == '\n' || data[pos] == '\t' || data[pos] == '\r') {
		pos++
	}
	return pos
}

// skipString returns the offset of the closing quote of a string, and whether the string has a backslash. The content
// of the string begins at pos.
func skipString(data []byte, pos int) (end int, escaped bool, err error) {
	for limit := pos + maxByteLoopText; pos <= len(data)-8 && pos < limit; pos += 8 {
		hit := quotesAndBackslashes(binary.LittleEndian.Uint64(data[pos:]))
		if hit == 0 {
			continue
		}
		if pos += bits.TrailingZeros64(hit) / 8; data[pos] == '"' {
			return pos, false, nil
		}
		break
	}
	if end = quoteEnd(data, pos); end < 0 {
		return 0, false, io.ErrUnexpectedEOF
	}
	return end, bytes.IndexByte(data[pos:end], '\\') >= 0, nil
}

// stringEnd returns the offset of the closing quote of a string, or -1. The content of the string begins at pos.
func stringEnd(data []byte, pos int) int {
	const short = 128 // length in bytes from which the search of package bytes is faster
	for limit := pos + short; pos <= len(data)-8 && pos < limit; {
		hit := quotesAndBackslashes(binary.LittleEndian.Uint64(data[pos:]))
		if hit == 0 {
			pos += 8
			continue
		}
		if pos += bits.TrailingZeros64(hit) / 8; data[pos] == '"' {
			return pos
		}
		pos += 2 // a backslash and the byte that it escapes
	}
	if pos > len(data) {
		return -1
	}
	return quoteEnd(data, pos)
}

// Classes of bytes outside of strings.
const (
	partOfToken    = iota // part of a number or literal
	closingBracket        // ] or }
	openingBracket        // [ or {
	quote
	tokenSeparator // comma, colon or white space; ends a number or literal
)

var byteClass = [256]uint8{'"': quote, '{': openingBracket, '[': openingBracket, '}': closingBracket, ']': closingBracket, ',': tokenSeparator, ':': tokenSeparator, ' ': tokenSeparator, '\t': tokenSeparator, '\n': tokenSeparator, '\r': tokenSeparator}

// skipValue returns the offset after the value at pos. In a container it looks only for strings and brackets.
func skipValue(data []byte, pos int) (int, error) {
	if pos >= len(data) {
		return 0, io.ErrUnexpectedEOF
	}
	switch byteClass[data[pos]] {
	case quote:
		if at := pos + 1; at+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[at:])
			if hit := quotesAndBackslashes(w); hit != 0 {
				if at += bits.TrailingZeros64(hit) / 8; data[at] == '"' {
					return at + 1, nil
				}
			}
		}
		end, _, err := skipString(data, pos+1)
		return end + 1, err
	case openingBracket:
		return skipContainer(data, pos)
	case partOfToken:
		for pos++; pos < len(data) && byteClass[data[pos]] == partOfToken; pos++ {
		}
		return pos, nil
	}
	return 0, unexpectedByte(data, pos, "a value")
}

// caseBits is the bit in which [ and { differ, and ] and }.
const caseBits = 0x2020202020202020

// skipContainer returns the offset after the object or list at pos.
func skipContainer(data []byte, pos int) (int, error) {
	for depth := 0; pos < len(data); pos++ {
		if pos+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[pos:])
			folded := w | caseBits
			hit := (((w ^ lowBits*'"') - lowBits) | ((folded ^ lowBits*'{') - lowBits) | ((folded ^ lowBits*'}') - lowBits)) &^ w & highBits
			if hit == 0 {
				pos += 7
				continue
			}
			pos += bits.TrailingZeros64(hit) / 8
		}
		switch byteClass[data[pos]] {
		case quote:
			if pos = stringEnd(data, pos+1); pos < 0 {
				return 0, io.ErrUnexpectedEOF
			}
		case openingBracket:
			depth++
		case closingBracket:
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
