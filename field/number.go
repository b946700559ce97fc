package field

import (
	"math"
	"math/bits"
	"strconv"
)

// maxNumberText bounds the length of text that is parsed as a number, in bytes. A useful decimal form of a float64 is
// always shorter.
const maxNumberText = 64

// number is an exact integer, a float64, or a decimal number that a float64 may have to round.
type number struct {
	isFloat  bool
	unsigned bool // the number is uint64(integer), because it exceeds the largest int64
	integer  int64
	float    float64
	text     []byte // the number in decimal form if float may be rounded; otherwise nil
}

func (n number) String() string {
	switch {
	case n.text != nil:
		return string(n.text)
	case n.isFloat:
		text := strconv.FormatFloat(n.float, 'g', -1, 64)
		for _, c := range []byte(text) {
			if c == '.' || c == 'e' {
				return text
			}
		}
		return text + ".0"
	case n.unsigned:
		return strconv.FormatUint(uint64(n.integer), 10)
	}
	return strconv.FormatInt(n.integer, 10)
}

var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseNumber parses text that consists of one decimal number: a sign, digits, a fraction, an exponent. It returns
// false for other text and for numbers outside the range of float64. Text of usual length is parsed without an
// allocation. The result may refer to b.
func parseNumber(b []byte) (number, bool) {
	if len(b) > maxNumberText {
		return number{}, false
	}
	i, negative := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		i, negative = 1, b[0] == '-'
	}
	start, isFloat, scale := i, false, 0
	mantissa, i := appendDigits(b, i, 0)
	count := i - start
	if i < len(b) && b[i] == '.' {
		isFloat, start = true, i+1
		mantissa, i = appendDigits(b, start, mantissa)
		count, scale = count+i-start, start-i
	}
	if count == 0 {
		return number{}, false
	}
	exact := count <= maxUint64Digits || fitsUint64(b[:i])
	if i < len(b) {
		exponent, ok := parseExponent(b[i:])
		if !ok {
			return number{}, false
		}
		isFloat, scale = true, scale+exponent
	}
	if !isFloat && exact && (!negative || mantissa <= 1<<63) {
		if negative {
			return number{integer: -int64(mantissa)}, true
		}
		return number{integer: int64(mantissa), unsigned: mantissa > math.MaxInt64}, true
	}
	if exact && mantissa < 1<<53 && -22 <= scale && scale <= 22 { // both operands are exact, so the result is rounded only once
		f := float64(mantissa)
		if scale < 0 {
			f /= powersOfTen[-scale]
		} else {
			f *= powersOfTen[scale]
		}
		if negative {
			f = -f
		}
		return number{isFloat: true, float: f}, true
	}
	f, err := strconv.ParseFloat(string(b), 64)
	n := number{isFloat: true, float: f}
	if count > maxExactDigits || math.Abs(f) < leastNormal {
		n.text = b
	}
	return n, err == nil
}

// maxExactDigits is the number of decimal digits that a float64 keeps: no two numbers with so many digits have the same
// float64, except below leastNormal.
const (
	maxExactDigits = 15
	leastNormal    = 0x1p-1022
)

// maxUint64Digits is the number of decimal digits that always fit a uint64.
const maxUint64Digits = 19

// appendDigits appends the digits at pos to the decimal number n. It returns the new number and the offset after the
// digits. The number may overflow after more than maxUint64Digits digits.
func appendDigits(b []byte, pos int, n uint64) (uint64, int) {
	for ; uint(pos) < uint(len(b)) && b[pos]-'0' <= 9; pos++ {
		n = n*10 + uint64(b[pos]-'0')
	}
	return n, pos
}

// fitsUint64 reports whether the digits of b form a number that fits a uint64. It ignores other bytes.
func fitsUint64(b []byte) bool {
	var n uint64
	for _, c := range b {
		if c -= '0'; c > 9 {
			continue
		}
		high, low := bits.Mul64(n, 10)
		sum, carry := bits.Add64(low, uint64(c), 0)
		if high != 0 || carry != 0 {
			return false
		}
		n = sum
	}
	return true
}

// parseExponent parses b, which must be one exponent such as e+12. It caps an exponent that exceeds the range of
// float64.
func parseExponent(b []byte) (int, bool) {
	if b[0] != 'e' && b[0] != 'E' {
		return 0, false
	}
	b = b[1:]
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b, negative = b[1:], b[0] == '-'
	}
	if len(b) == 0 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = min(n*10+int(c), 100_000_000)
	}
	if negative {
		n = -n
	}
	return n, true
}

// ordering is the result of comparing two values. A comparison with NaN is unordered.
type ordering int

const (
	less      ordering = -1
	equalTo   ordering = 0
	greater   ordering = 1
	unordered ordering = 2
)

func compare[T int64 | uint64 | float64](a, b T) ordering {
	switch {
	case a < b:
		return less
	case a > b:
		return greater
	case a == b:
		return equalTo
	}
	return unordered
}

// compareNumbers compares exactly: it never rounds an integer or a decimal number to a float64.
func compareNumbers(a, b *number) ordering {
	switch {
	case a.text != nil || b.text != nil:
		return compareDecimals(a, b)
	case a.isFloat && b.isFloat:
		return compare(a.float, b.float)
	case a.isFloat:
		if o := compareIntFloat(b, a.float); o != unordered {
			return -o
		}
		return unordered
	case b.isFloat:
		return compareIntFloat(a, b.float)
	case a.unsigned != b.unsigned:
		if a.unsigned {
			return greater
		}
		return less
	case a.unsigned:
		return compare(uint64(a.integer), uint64(b.integer))
	}
	return compare(a.integer, b.integer)
}

func compareIntFloat(a *number, f float64) ordering {
	const two53, two63, two64 = 1 << 53, 1 << 63, 1 << 64
	switch {
	case -two53 <= a.integer && a.integer <= two53 && !a.unsigned:
		return compare(float64(a.integer), f) // exact
	case f != f:
		return unordered
	case f >= two64:
		return less
	case f < -two63:
		return greater
	case a.unsigned && f < two63:
		return greater
	case a.unsigned:
		return compare(uint64(a.integer), uint64(f)) // a float64 of 2^63 or more has no fraction
	case f >= two63:
		return less
	}
	whole := int64(f)
	if a.integer != whole {
		return compare(a.integer, whole)
	}
	return compare(float64(whole), f) // float64(whole) is exact, because whole is f without its fraction
}
