package utf8check

import (
	"encoding/binary"
	"unicode/utf8"
)

const highs = 0x8080808080808080

// Bad returns the offset of the first byte of b that is not UTF-8 (RFC 3629), or -1.
func Bad(b []byte) int {
	if ASCII(b) || utf8.Valid(b) {
		return -1
	}
	pos := 0
	for {
		r, n := utf8.DecodeRune(b[pos:])
		if r == utf8.RuneError && n <= 1 {
			return pos
		}
		pos += n
	}
}

// ASCII reports whether all of b is ASCII.
func ASCII(b []byte) bool {
	n := len(b)
	if n < 8 {
		return combineShort(b)&highs == 0
	}
	all := binary.LittleEndian.Uint64(b[n-8:])
	for len(b) >= 32 {
		all |= binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) | binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if all&highs != 0 {
			return false
		}
		b = b[32:]
	}
	for ; len(b) >= 8; b = b[8:] {
		all |= binary.LittleEndian.Uint64(b)
	}
	return all&highs == 0
}

// combineShort combines up to 7 bytes into one word, so that a high bit is set if any byte is not ASCII.
func combineShort(b []byte) uint64 {
	switch n := len(b); {
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2]) | uint64(b[n-1])
	}
	return 0
}
