package json

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// specialBytes sets the high bit of the first byte of w that is not plain. The bytes that are not plain are quotes,
// backslashes, control characters and bytes that are not ASCII. RFC 8259, section 7.
func specialBytes(w uint64) uint64 { return specialBits(w) & highBits }

// specialBits is specialBytes before the mask: in each byte of the result only the high bit has a meaning.
func specialBits(w uint64) uint64 {
	return ((w ^ lowBits*'"') - lowBits) | ((w ^ lowBits*'\\') - lowBits) | (w - lowBits*' ') | w
}

// countPlain returns the number of plain bytes at the start of b, at most 16. b must have at least 16 bytes.
func countPlain(b []byte) int {
	n := bits.TrailingZeros64(specialBytes(binary.LittleEndian.Uint64(b)))
	if n == 64 {
		n += bits.TrailingZeros64(specialBytes(binary.LittleEndian.Uint64(b[8:])))
	}
	return n / 8
}

// plainEnd returns the offset of the first byte that is not plain, starting at pos. Without such a byte it returns
// len(data).
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

// skipPlainBlocks skips all blocks of 32 bytes that contain only plain bytes.
func skipPlainBlocks(data []byte, pos int) int {
	b := data[pos:]
	for len(b) >= 32 {
		all := specialBits(binary.LittleEndian.Uint64(b)) | specialBits(binary.LittleEndian.Uint64(b[8:])) |
			specialBits(binary.LittleEndian.Uint64(b[16:])) | specialBits(binary.LittleEndian.Uint64(b[24:]))
		if all&highBits != 0 {
			break
		}
		b = b[32:]
	}
	return len(data) - len(b)
}

// nonASCIIPlainEnd is plainEnd for text that is not ASCII: it also skips bytes that are not ASCII.
func nonASCIIPlainEnd(data []byte, pos int) int {
	for ; pos <= len(data)-8; pos += 8 {
		w := binary.LittleEndian.Uint64(data[pos:])
		if hit := quotesAndBackslashes(w) | (w-lowBits*' ')&^w&highBits; hit != 0 {
			return pos + bits.TrailingZeros64(hit)/8
		}
	}
	for pos < len(data) && data[pos] >= ' ' && data[pos] != '"' && data[pos] != '\\' {
		pos++
	}
	return pos
}

// quoteEnd returns the offset of the quote that ends the string around pos, or -1. It searches for quotes and counts
// the backslashes before each quote, which is fast for long strings.
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
