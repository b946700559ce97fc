package field

import "math"

// Number returns the number that v is, rounded to a float64. As in a Predicate, text that consists of one number counts as this
// number. ok is false for any other value.
func (v *Value) Number() (f float64, ok bool) {
	n, ok := v.number()
	switch {
	case n.isFloat:
		return n.float, ok
	case n.unsigned:
		return float64(uint64(n.integer)), ok
	}
	return float64(n.integer), ok
}

// Integer returns the whole number that v is. Text counts as in Number. ok is false for a number with a fraction or outside of the
// range of int64, and for any other value.
func (v *Value) Integer() (i int64, ok bool) {
	n, ok := v.number()
	switch {
	case n.unsigned:
		return 0, false
	case n.isFloat && (n.float != math.Trunc(n.float) || n.float < -1<<63 || n.float >= 1<<63): // NaN is unequal to itself
		return 0, false
	case n.isFloat:
		return int64(n.float), ok
	}
	return n.integer, ok
}

func (v *Value) number() (number, bool) {
	switch v.Kind {
	case Int:
		return number{integer: v.Int, unsigned: v.Unsigned}, true
	case Float:
		return number{isFloat: true, float: v.Float}, true
	case Text:
		return parseNumber(v.Bytes)
	}
	return number{}, false
}
