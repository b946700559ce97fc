package keyset

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// hashSeed, secondSeed and factor are secret, so that an attacker cannot choose keys with equal hashes.
var hashSeed, secondSeed, factor = rand.Uint64(), rand.Uint64(), rand.Uint64() | 1

const (
	lowBits        = 0x0101010101010101
	highBits       = 0x8080808080808080
	hashMultiplier = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio: odd, with evenly spread bits
)

// Hash returns a hash of b, and whether b is ASCII. With fold, keys that differ only in ASCII case have equal hashes.
// The hash is valid in this process only.
func Hash(b []byte, fold bool) (h uint64, ascii bool) {
	n := len(b)
	var first, last uint64
	switch {
	case n > 16:
		return hashLong(b, fold)
	case n >= 8:
		first, last = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	default:
		first = loadTail(b)
	}
	ascii = (first|last)&highBits == 0
	if fold {
		first, last = lowerASCII(first), lowerASCII(last)
	}
	return mulFold(first^hashSeed, last^secondSeed^uint64(n)*hashMultiplier), ascii
}

// hashLong is Hash for more than 16 bytes.
func hashLong(b []byte, fold bool) (h uint64, ascii bool) {
	h = secondSeed ^ uint64(len(b))
	var all uint64
	for len(b) > 8 {
		w := binary.LittleEndian.Uint64(b)
		all |= w
		if fold {
			w = lowerASCII(w)
		}
		h = mulFold(h^w, factor)
		b = b[8:]
	}
	w := loadTail(b)
	all |= w
	if fold {
		w = lowerASCII(w)
	}
	return mulFold(h^w, hashSeed), all&highBits == 0
}

// loadTail returns up to 8 bytes as one word. Byte strings of different lengths may give the same word, so the caller
// also hashes the length.
func loadTail(b []byte) uint64 {
	switch n := len(b); {
	case n == 8:
		return binary.LittleEndian.Uint64(b)
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(8*uint(n-4))
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<(8*uint(n/2)) | uint64(b[n-1])<<(8*uint(n-1))
	}
	return 0
}

// Int returns a hash of the integer key n, or of -1-n if negative is set.
func Int(n uint64, negative bool) uint64 {
	h := hashSeed
	if negative {
		h = ^h
	}
	return mulFold(h^n, hashMultiplier)
}

func mulFold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// lowerASCII converts the ASCII capitals among the eight bytes of w to lower case.
func lowerASCII(w uint64) uint64 {
	seven := w &^ highBits
	atLeastA := seven + (0x80-'A')*lowBits
	aboveZ := seven + (0x7f-'Z')*lowBits
	capital := (atLeastA ^ aboveZ) &^ w & highBits
	return w | capital>>2
}

// EqualFold reports whether a and b are equal when ASCII case is ignored.
func EqualFold(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		if lowerASCII(uint64(c)) != lowerASCII(uint64(b[i])) {
			return false
		}
	}
	return true
}
