package operator

import (
	"fmt"
	"time"
)

// Windows says which values belong together. The functions below make one.
type Windows struct {
	kind       windowKind
	size, step time.Duration
	count      int
	every      int // values from the start of a counted window to that of the next
	lateness   time.Duration
	maxOpen    int
	maxValues  int
}

type windowKind uint8

const (
	byTime windowKind = iota + 1
	bySession
	byCount
)

// Tumbling are windows of equal size, one after the other. They begin at multiples of size since 1970.
func Tumbling(size time.Duration) Windows { return Windows{kind: byTime, size: size, step: size} }

// Sliding are windows of equal size, which begin at multiples of step since 1970. A value is in size/step of them, at most 1000.
func Sliding(size, step time.Duration) Windows { return Windows{kind: byTime, size: size, step: step} }

// Session windows end when no value came for the time gap.
func Session(gap time.Duration) Windows { return Windows{kind: bySession, size: gap, step: gap} }

// Counted windows have n values each. The last one may have fewer.
func Counted(n int) Windows { return Windows{kind: byCount, count: n, every: n} }

// CountedSliding windows have n values each, and begin with each step-th value: a value is in up to n/step of them, at most 1000. With a step
// above n, the values between two windows are in none. The last windows may have fewer values.
func CountedSliding(n, step int) Windows { return Windows{kind: byCount, count: n, every: step} }

// CountedOrTimed windows end with their n-th value, or when the time d has passed since the first.
func CountedOrTimed(n int, d time.Duration) Windows {
	return Windows{kind: byCount, count: n, every: n, size: d}
}

// Late returns windows that take late values for the time allowed after their ends. A late value makes its window emit again, at once.
func (w Windows) Late(allowed time.Duration) Windows {
	w.lateness = allowed
	return w
}

// MaxOpen returns windows of which at most n are open at the same time; 0 means 1024. A value that would open another one is dropped.
func (w Windows) MaxOpen(n int) Windows {
	w.maxOpen = n
	return w
}

// MaxValues returns windows that have at most n values each. Further ones are dropped. 0 means no limit, and 65536 in Buffer.
func (w Windows) MaxValues(n int) Windows {
	w.maxValues = n
	return w
}

// defaultMaxOpen is the default of Windows.MaxOpen.
const defaultMaxOpen = 1024

// maxOverlap is the most windows that one value is in.
const maxOverlap = 1000

// check returns an error if there can be no such windows.
func (w Windows) check() error {
	switch {
	case w.kind == 0:
		return fmt.Errorf("windows of no kind: use Tumbling, Sliding, Session, Counted, CountedSliding or CountedOrTimed")
	case w.kind == byCount && (w.count <= 0 || w.every <= 0):
		return fmt.Errorf("windows of %d values, one each %d values: want at least 1", w.count, w.every)
	case w.kind == byCount && w.count/w.every > maxOverlap:
		return fmt.Errorf("windows of %d values, one each %d values, overlap %d times: want at most %d", w.count, w.every, w.count/w.every, maxOverlap)
	case w.kind == byCount && (w.size < 0 || w.lateness != 0):
		return fmt.Errorf("counted windows with a time of %v and %v for late values: want a positive time, and no time for late values", w.size, w.lateness)
	case w.kind != byCount && (w.size <= 0 || w.step <= 0 || w.step > w.size):
		return fmt.Errorf("windows of %v every %v: want positive times, and the first not less than the second", w.size, w.step)
	case w.kind != byCount && w.size/w.step > maxOverlap:
		return fmt.Errorf("windows of %v every %v overlap %d times: want at most %d", w.size, w.step, w.size/w.step, maxOverlap)
	case w.lateness < 0 || w.maxOpen < 0 || w.maxValues < 0:
		return fmt.Errorf("windows with %v for late values, MaxOpen %d, MaxValues %d: want none negative", w.lateness, w.maxOpen, w.maxValues)
	}
	return nil
}

// Windowed is the result of one window.
type Windowed[R any] struct {
	Start, End int64 // Unix nanoseconds; End is the first time behind the window
	Count      int   // of values
	Value      R
	Again      bool // a late value has changed a result that was emitted before
}
