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
	n = n.canonical()
	switch {
	case n.unsigned || n.text != nil:
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
		return number{isFloat: true, float: v.Float, text: v.Bytes}, true
	case Text:
		return parseNumber(v.Bytes)
	}
	return number{}, false
}

// WholeNumber returns v as an Int if v is an Int, or a Float that stands for a whole number in the range of int64 or
// uint64. For other values it returns v and false.
func (v *Value) WholeNumber() (Value, bool) {
	n := number{isFloat: true, float: v.Float, text: v.Bytes}
	switch {
	case v.Kind == Int:
		return *v, true
	case v.Kind != Float:
		return *v, false
	case n.text != nil:
		n = n.canonical()
	case v.Float == math.Trunc(v.Float) && v.Float >= -1<<63 && v.Float < 1<<63:
		n = number{integer: int64(v.Float)}
	case v.Float == math.Trunc(v.Float) && v.Float >= 1<<63 && v.Float < 1<<64:
		n = number{integer: int64(uint64(v.Float)), unsigned: true}
	}
	if n.isFloat {
		return *v, false
	}
	return Value{Kind: Int, Int: n.integer, Unsigned: n.unsigned}, true
}

// DecimalValue returns the Value of a number in decimal form. f is the float64 nearest to the number. If f is not equal to
// the number, the Value keeps the text.
func DecimalValue(f float64, text []byte) Value {
	v := Value{Kind: Float, Float: f}
	if len(text) <= maxExactDigits && math.Abs(f) >= leastNormal {
		return v
	}
	exact, rounded := number{isFloat: true, float: f, text: text}, number{isFloat: true, float: f}
	if compareDecimals(&exact, &rounded) != equalTo {
		v.Bytes = text
	}
	return v
}
