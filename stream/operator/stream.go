package operator

import (
	"math"
	"time"
)

// Stream describes values of type T that arrive over time. An operator makes a Stream of another. Nothing runs before Start. A Stream
// that two operators use runs twice, with its source; Share prevents that. The zero Stream has no values and ends at once.
//
// Each value has a time, in Unix nanoseconds. It is the time at which the source got the value, or the one that EventTime has given
// to it.
type Stream[T any] struct {
	attach func(s *scope, to output[T]) clock
}

// output is where an operator passes its values on.
type output[T any] struct {
	next  func(v T, at int64) // the next value and its time
	end   func()              // no value follows
	all   func(b *batch[T])   // what next does, for all values of a batch; used only if takes allows it
	takes func() taking       // how the operator takes batches, once all operators are built; nil means oneByOne
}

// connect builds the operators of the stream, which pass values to the output. It returns the clock of these values.
func (in Stream[T]) connect(s *scope, to output[T]) clock {
	if in.attach == nil {
		s.run.source(func(func(func()) error) error { return nil }, to.end)
		return s.run.wallClock()
	}
	return in.attach(s, to)
}

// scope is where operators are built: a run, or a group within it.
type scope struct {
	run      *Running
	path     string // of the state of the group
	template bool   // the operators get no values, see groups.template
	last     int    // number of the operator that was built last
	cells    []*cell
	shared   map[*int]any // by Share
}

// later returns at + d, or the last time that there is.
func later(at int64, d time.Duration) int64 {
	if at > math.MaxInt64-int64(d) {
		return math.MaxInt64
	}
	return at + int64(d)
}

// earlier returns at - d, or the first time that there is.
func earlier(at, d int64) int64 {
	if at < math.MinInt64+d {
		return math.MinInt64
	}
	return at - d
}

// check panics with an error that Start returns, unless ok.
func check(ok bool, err func() error) {
	if !ok {
		panic(failure{err()})
	}
}
