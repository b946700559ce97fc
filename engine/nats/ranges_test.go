package nats

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// The operations on ranges do the same as those on sets of numbers.
func TestRanges(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const most = 40
	type set [most]bool
	draw := func() (s set) {
		for i := range s {
			s[i] = i > 0 && random.IntN(3) > 0
		}
		return s
	}
	of := func(keep func(int) bool) ranges {
		var numbers []uint64
		for i := range most {
			if i > 0 && keep(i) {
				numbers = append(numbers, uint64(i))
			}
		}
		return rangesOf(numbers)
	}
	for range 2000 {
		a, b := draw(), draw()
		ra, rb := of(func(i int) bool { return a[i] }), of(func(i int) bool { return b[i] })
		if got, want := ra.without(rb), of(func(i int) bool { return a[i] && !b[i] }); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v without %v = %v, want %v", ra, rb, got, want)
		}
		if got, want := ra.with(rb), of(func(i int) bool { return a[i] || b[i] }); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v with %v = %v, want %v", ra, rb, got, want)
		}
		first, last := 1+random.IntN(most-1), random.IntN(most)
		if got, want := ra.within(uint64(first), uint64(last)), of(func(i int) bool { return a[i] && i >= first && i <= last }); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v within %d to %d = %v, want %v", ra, first, last, got, want)
		}
	}
}
