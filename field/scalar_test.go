package field

import (
	"math"
	"testing"
)

func TestNumberAndInteger(t *testing.T) {
	t.Parallel()
	text := func(s string) Value { return Value{Kind: Text, Bytes: []byte(s)} }
	for _, row := range []struct {
		name    string
		v       Value
		number  float64
		isNum   bool
		integer int64
		isInt   bool
	}{
		{"an integer", Value{Kind: Int, Int: -7}, -7, true, -7, true},
		{"above int64", Value{Kind: Int, Int: -1, Unsigned: true}, math.MaxUint64, true, 0, false},
		{"a whole float", Value{Kind: Float, Float: 1e18}, 1e18, true, 1e18, true},
		{"a fraction", Value{Kind: Float, Float: 1.5}, 1.5, true, 0, false},
		{"a large float", Value{Kind: Float, Float: 1e19}, 1e19, true, 0, false},
		{"infinity", Value{Kind: Float, Float: math.Inf(1)}, math.Inf(1), true, 0, false},
		{"text of an integer", text("1763852400000000001"), 1763852400000000001, true, 1763852400000000001, true},
		{"text of a float", text("2.5e1"), 25, true, 25, true},
		{"other text", text("25 C"), 0, false, 0, false},
		{"a bool", Value{Kind: Bool, Bool: true}, 0, false, 0, false},
		{"nothing", Value{}, 0, false, 0, false},
	} {
		if got, ok := row.v.Number(); got != row.number || ok != row.isNum {
			t.Errorf("%s: Number is %v, %v, want %v, %v", row.name, got, ok, row.number, row.isNum)
		}
		if got, ok := row.v.Integer(); got != row.integer || ok != row.isInt {
			t.Errorf("%s: Integer is %v, %v, want %v, %v", row.name, got, ok, row.integer, row.isInt)
		}
	}
	nan := Value{Kind: Float, Float: math.NaN()}
	if _, ok := nan.Integer(); ok {
		t.Error("NaN is an integer")
	}
}
