package keyset

import "math"

// leastInteger is the lowest integer of CBOR: -2^64.
const leastInteger = "-18446744073709551616"

// ParseInteger parses an integer from -2^64 to 2^64-1 in its shortest decimal form. The integer is n, or -1-n if minus
// is set. For other texts ok is false. Unlike strconv, ParseInteger then allocates nothing.
func ParseInteger[T string | []byte](text T) (n uint64, minus, ok bool) {
	if len(text) == 0 || len(text) > len(leastInteger) || text[0] > '9' {
		return 0, false, false
	}
	digits := text
	if text[0] == '-' {
		minus, digits = true, text[1:]
	}
	if len(digits) == 0 || digits[0] == '0' && (minus || len(digits) > 1) {
		return 0, false, false
	}
	for i := range len(digits) {
		d := uint64(digits[i] - '0')
		if d > 9 {
			return 0, false, false
		}
		if n > (math.MaxUint64-d)/10 {
			return math.MaxUint64, minus, string(text) == leastInteger
		}
		n = n*10 + d
	}
	if minus {
		n--
	}
	return n, minus, true
}
