package operator

import (
	"fmt"
	"math"
	"time"
)

// Stream describes values of type T that arrive over time. An operator makes a Stream of another. Nothing runs before Start. A Stream
// that two operators use runs twice, with its source; Share prevents that. The zero Stream has no values and ends at once.
//
// Each value has a time, in Unix nanoseconds. It is the time at which the source got the value, or the one that EventTime has given
// to it.
type Stream[T any] struct {
	attach func(s *scope, to output[T]) upstream
}

// output is where an operator passes its values on.
type output[T any] struct {
	next  func(v T, at int64) // the next value and its time
	end   func()              // no value follows; it is called once
	all   func(b *batch[T])   // what next does, for all values of a batch; used only if takes allows it
	takes func() taking       // how the operator takes batches, once all operators are built; nil means oneByOne
}

// upstream is what an operator knows of the operators before it: the clock of their values, and how to end them.
type upstream struct {
	clock
	stop func() // no further value is wanted: what no other operator wants ends, too. Values of this turn may still come.
}

// behind returns the upstream of the operator behind one whose timers are on u.
func (u upstream) behind() upstream {
	u.level++
	return u
}

// connect builds the operators of the stream, which pass values to the output. It returns the upstream of that output.
func (in Stream[T]) connect(s *scope, to output[T]) upstream {
	if in.attach == nil {
		return s.newSource(to.end, func(*source) error { return nil }).upstream()
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

	// Of the operators that are built now, as those behind them want it.
	fail  failing    // handles their errors
	again newRepeats // makes their sources read again
	held  *[]func()  // gets what starts their sources later
}

// keeps panics with an error if an operator that keeps something from value to value stands where its sources are read again.
func (s *scope) keeps(kind string) {
	check(s.again == nil || kind == inputKind, func() error {
		return fmt.Errorf("%s between a source and Repeat or RetrySource: put it behind", kind)
	})
}

// begin calls f when all operators are built, and before the first value. Groups that are made later have no such time.
func (s *scope) begin(f func()) {
	if !s.template && !s.run.started {
		s.run.begins = append(s.run.begins, f)
	}
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
