package operator

import (
	"errors"
	"sync"
)

// Input is a source whose values are pushed. It belongs to one run. All methods may overlap; Stream must be called before Start.
//
// A value may have a sequence number: those of an Input rise. The number of the last value is stored with the state, and a run that goes
// on from a stored state skips values up to that number.
type Input[T any] struct {
	mu    sync.Mutex
	run   *Running
	to    output[T]
	last  uint64 // guarded by the run
	cell  *cell
	ended chan struct{} // closed by Close
	close func()
}

// NewInput returns an Input.
func NewInput[T any]() *Input[T] {
	in := &Input[T]{ended: make(chan struct{})}
	in.close = sync.OnceFunc(func() { close(in.ended) })
	return in
}

// Stream returns the stream of the pushed values.
func (in *Input[T]) Stream() Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) clock {
		in.mu.Lock()
		defer in.mu.Unlock()
		check(in.run == nil, func() error { return errUsedTwice })
		r := s.run
		in.run, in.to = r, to
		in.cell, _ = newCell(s, "input", &in.last, func() (uint64, bool) { return in.last, true })
		r.source(func(func(func()) error) error {
			select {
			case <-in.ended:
				return nil
			case <-r.ctx.Done():
				return ErrStopped
			}
		}, to.end)
		return r.wallClock()
	}}
}

// Last returns the sequence number of the last value that is in the state, after Start. 0 means none. The source goes on behind it.
func (in *Input[T]) Last() uint64 {
	in.mu.Lock()
	r := in.run
	in.mu.Unlock()
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return in.last
}

// Push passes a value and its time, in Unix nanoseconds, to the operators. When it returns, they have handled it and, if the run has a
// Store, their state is stored. 0 as the time means now. The error is why the run has ended.
func (in *Input[T]) Push(v T, at int64) error {
	return in.Batch(func(push func(T, int64, uint64)) { push(v, at, 0) })
}

// Batch passes many values in one turn: f pushes them, with their times and sequence numbers. Their state is stored once. A sequence number
// of 0 means none.
func (in *Input[T]) Batch(f func(push func(v T, at int64, sequence uint64))) error {
	in.mu.Lock()
	r := in.run
	in.mu.Unlock()
	if r == nil {
		return errors.New("operator: an Input got a value before Start")
	}
	return r.enter(func() { f(in.push) })
}

func (in *Input[T]) push(v T, at int64, sequence uint64) {
	if sequence > 0 {
		if sequence <= in.last {
			in.run.stats.Repeated++
			return
		}
		in.last = sequence
		in.cell.touch()
	}
	if at == 0 {
		at = in.run.wall.now
	}
	in.to.next(v, at)
}

// Close ends the stream. The run ends when all its sources have ended.
func (in *Input[T]) Close() { in.close() }
