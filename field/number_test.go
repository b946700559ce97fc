package field

import (
	"math"
	"math/big"
	"strconv"
	"testing"
)

func TestParseNumber(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "-", "+", ".", "e5", "1e", "1e+", "0x1f", "1_000", " 1", "1 ", "NaN", "Inf", "1.2.3", "--1", "1e5.", "1e309"} {
		if n, ok := parseNumber([]byte(s)); ok {
			t.Errorf("%q: got %v, want no number", s, n)
		}
	}
	for _, s := range []string{
		"0", "-0", "+7", "007", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "18446744073709551616",
		"-9223372036854775809", "99999999999999999999999", "1.5", ".5", "5.", "1e22", "1e23", "-2.5e-3", "1.7976931348623157e308",
		"5e-324", "9007199254740993.0", "0.1", "00000000000000000000123", "0018446744073709551615", "1.8446744073709551616", "123456789012345678901234567890e-20", "1e-400",
	} {
		n, ok := parseNumber([]byte(s))
		if !ok {
			t.Errorf("%q is no number", s)
			continue
		}
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			if n.isFloat || n.unsigned || n.integer != i {
				t.Errorf("%q: got %+v, want %d", s, n, i)
			}
		} else if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			if n.isFloat || !n.unsigned || uint64(n.integer) != u {
				t.Errorf("%q: got %+v, want %d", s, n, u)
			}
		} else if f, err := strconv.ParseFloat(s, 64); err != nil || !n.isFloat || n.float != f {
			t.Errorf("%q: got %+v, want %v", s, n, f)
		}
	}
}

func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"1", "-2.5e+10", "18446744073709551615", "0.1", "1e400", "5e-324"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, ok := parseNumber([]byte(s))
		want, err := strconv.ParseFloat(s, 64)
		if ok && (err != nil || n.isFloat && n.float != want) {
			t.Errorf("%q: got %+v, strconv has %v, %v", s, n, want, err)
		}
	})
}

// TestCompareNumbers compares each pair of numbers with math/big too.
func TestCompareNumbers(t *testing.T) {
	t.Parallel()
	var all []number
	for _, i := range []int64{0, 1, -1, 1 << 53, 1<<53 + 1, -1<<53 - 1, math.MaxInt64, math.MinInt64} {
		all = append(all, number{integer: i})
	}
	for _, u := range []uint64{1 << 63, 1<<63 + 1, math.MaxUint64} {
		all = append(all, number{integer: int64(u), unsigned: true})
	}
	for _, f := range []float64{0, 0.5, -0.5, 1, -1.5, 1 << 53, 1 << 63, -1 << 63, 1 << 64, 1e300, -1e300, math.Inf(1), math.Inf(-1)} {
		all = append(all, number{isFloat: true, float: f})
	}
	exact := func(n number) *big.Float {
		switch {
		case n.isFloat:
			return new(big.Float).SetFloat64(n.float)
		case n.unsigned:
			return new(big.Float).SetUint64(uint64(n.integer))
		}
		return new(big.Float).SetInt64(n.integer)
	}
	for _, a := range all {
		for _, b := range all {
			if got, want := compareNumbers(&a, &b), ordering(exact(a).Cmp(exact(b))); got != want {
				t.Errorf("%+v and %+v: got %d, want %d", a, b, got, want)
			}
		}
		nan := number{isFloat: true, float: math.NaN()}
		if compareNumbers(&a, &nan) != unordered || compareNumbers(&nan, &a) != unordered {
			t.Errorf("%+v has an order with NaN", a)
		}
	}
}
