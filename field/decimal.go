package field

import (
	"bytes"
	"math"
	"strconv"
)

// decimal is the number 0.digits * 10^exponent. digits has no zero at either end; zero has no digits.
type decimal struct {
	negative bool
	digits   []byte
	exponent int
}

// parseDecimal parses text, which parseNumber accepts. It appends the digits to buf.
func parseDecimal(buf, text []byte) decimal {
	var d decimal
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		d.negative, text = text[0] == '-', text[1:]
	}
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		d.exponent, _ = parseExponent(text[i:])
		text = text[:i]
	}
	whole := len(text)
	d.digits = buf
	for i, c := range text {
		if c == '.' {
			whole = i
		} else {
			d.digits = append(d.digits, c)
		}
	}
	d.exponent += whole
	significant := bytes.TrimLeft(d.digits, "0")
	d.exponent -= len(d.digits) - len(significant)
	if d.digits = bytes.TrimRight(significant, "0"); len(d.digits) == 0 {
		return decimal{}
	}
	return d
}

func (d *decimal) compare(other *decimal) ordering {
	if d.sign() != other.sign() {
		return compare(d.sign(), other.sign())
	}
	o := compare(int64(d.exponent), int64(other.exponent))
	if o == equalTo {
		o = ordering(bytes.Compare(d.digits, other.digits))
	}
	if d.negative {
		o = -o
	}
	return o
}

func (d *decimal) sign() int64 {
	switch {
	case len(d.digits) == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// integer returns d if it is a whole number in the range of int64 or uint64.
func (d *decimal) integer() (number, bool) {
	if len(d.digits) > d.exponent || d.exponent > maxUint64Digits+1 {
		return number{}, false
	}
	var buf [maxUint64Digits + 1]byte
	text := append(buf[:0], d.digits...)
	for len(text) < d.exponent {
		text = append(text, '0')
	}
	if !fitsUint64(text) {
		return number{}, false
	}
	n, _ := appendDigits(text, 0, 0)
	switch {
	case !d.negative:
		return number{integer: int64(n), unsigned: n > math.MaxInt64}, true
	case n <= 1<<63:
		return number{integer: -int64(n)}, true
	}
	return number{}, false
}

// decimal returns n, which is finite, with its digits in buf. A float below 2^53 stands for its shortest decimal form, so
// that 0.1 is equal to the text 0.1. A larger float has no fraction and stands for its exact value.
func (n *number) decimal(buf []byte) decimal {
	var scratch [32]byte
	switch {
	case n.text != nil:
		return parseDecimal(buf, n.text)
	case n.isFloat && math.Abs(n.float) >= 1<<53:
		return parseDecimal(buf, strconv.AppendFloat(scratch[:0], n.float, 'f', 0, 64))
	case n.isFloat:
		return parseDecimal(buf, strconv.AppendFloat(scratch[:0], n.float, 'e', -1, 64))
	case n.unsigned:
		return parseDecimal(buf, strconv.AppendUint(scratch[:0], uint64(n.integer), 10))
	}
	return parseDecimal(buf, strconv.AppendInt(scratch[:0], n.integer, 10))
}

// rounded returns n as a float64.
func (n *number) rounded() float64 {
	switch {
	case n.isFloat:
		return n.float
	case n.unsigned:
		return float64(uint64(n.integer))
	}
	return float64(n.integer)
}

// compareDecimals is compareNumbers if a or b has a text. Rounding keeps the order, so that only numbers with the same
// float64 are compared by their digits.
func compareDecimals(a, b *number) ordering {
	x, y := a.rounded(), b.rounded()
	switch o := compare(x, y); {
	case o != equalTo:
		return o
	case math.IsInf(x, 0) && a.text == nil: // b is finite
		return compare(x, 0)
	case math.IsInf(x, 0) && b.text == nil:
		return compare(0, x)
	}
	var left, right [2 * maxNumberText]byte
	d, e := a.decimal(left[:0]), b.decimal(right[:0])
	return d.compare(&e)
}

// canonical returns n without its text if an integer or a float64 is equal to n. Numbers with a text in canonical form
// are equal to none without.
func (n number) canonical() number {
	if n.text == nil {
		return n
	}
	var left, right [2 * maxNumberText]byte
	d := n.decimal(left[:0])
	if i, ok := d.integer(); ok {
		return i
	}
	plain := number{isFloat: true, float: n.float}
	if math.IsInf(n.float, 0) {
		return n
	}
	if e := plain.decimal(right[:0]); d.compare(&e) == equalTo {
		return plain
	}
	return n
}
