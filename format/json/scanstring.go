package json

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// specialBytes marks the first byte of w that does not stand for itself in a string: a quote, a backslash, a control character,
// or a part of a character outside of ASCII. RFC 8259, section 7.
func specialBytes(w uint64) uint64 { return specialBits(w) & highs }

// specialBits is notPlain before all bits but the high ones are taken away.
func specialBits(w uint64) uint64 {
	return ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones) | (w - ones*' ') | w
}

// countPlain returns how many plain bytes b starts with, 16 at most. It must have 16 bytes.
func countPlain(b []byte) int {
	n := bits.TrailingZeros64(specialBytes(binary.LittleEndian.Uint64(b)))
	if n == 64 {
		n += bits.TrailingZeros64(specialBytes(binary.LittleEndian.Uint64(b[8:])))
	}
	return n / 8
}

// plainEnd returns the offset of the first byte from pos on that is not plain, or len(data).
func plainEnd(data []byte, pos int) int {
	for end := pos + 64; pos <= len(data)-16; pos += 16 {
		if pos == end {
			if pos = skipPlainBlocks(data, pos); pos > len(data)-16 {
				break
			}
		}
		if n := countPlain(data[pos:]); n < 16 {
			return pos + n
		}
	}
	for pos < len(data) && data[pos]-' ' < 0x80-' ' && data[pos] != '"' && data[pos] != '\\' {
		pos++
	}
	return pos
}

// skipPlainBlocks passes 32 bytes at a time, as long as all of them are plain.
func skipPlainBlocks(data []byte, pos int) int {
	b := data[pos:]
	for len(b) >= 32 {
		all := specialBits(binary.LittleEndian.Uint64(b)) | specialBits(binary.LittleEndian.Uint64(b[8:])) |
			specialBits(binary.LittleEndian.Uint64(b[16:])) | specialBits(binary.LittleEndian.Uint64(b[24:]))
		if all&highs != 0 {
			break
		}
		b = b[32:]
	}
	return len(data) - len(b)
}

// nonASCIIPlainEnd is plainEnd for which bytes outside of ASCII are plain.
func nonASCIIPlainEnd(data []byte, pos int) int {
	for ; pos <= len(data)-8; pos += 8 {
		w := binary.LittleEndian.Uint64(data[pos:])
		if hit := tokenEnds(w) | (w-ones*' ')&^w&highs; hit != 0 {
			return pos + bits.TrailingZeros64(hit)/8
		}
	}
	for pos < len(data) && data[pos] >= ' ' && data[pos] != '"' && data[pos] != '\\' {
		pos++
	}
	return pos
}

// quoteEnd returns the offset of the quote that ends the string of which pos is inside, and not behind a backslash; -1 if
// it does not end. It is for long strings, and looks at nothing but quotes and what stands before them.
func quoteEnd(data []byte, pos int) int {
	for at := pos; ; at++ {
		n := bytes.IndexByte(data[at:], '"')
		if n < 0 {
			return -1
		}
		at += n
		backslashes := at
		for backslashes > pos && data[backslashes-1] == '\\' {
			backslashes--
		}
		if (at-backslashes)%2 == 0 {
			return at
		}
	}
}
