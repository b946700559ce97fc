package operator

import (
	"cmp"
	"errors"
	"slices"
	"sync"
)

// Input is a source whose values are pushed. It belongs to one run. All methods may overlap; Stream must be called before Start.
//
// A value may have a sequence number: those of an Input rise. The number of the last value is stored with the state, and a run that goes
// on from a stored state skips values up to that number.
type Input[T any] struct {
	mu    sync.Mutex
	src   *source
	run   *Running
	to    output[T]
	last  uint64 // guarded by the run
	cell  *cell
	ended chan struct{} // closed by Close
	close func()

	// Values of a turn that are not passed on yet, and their times, guarded by the run.
	gathered  []T
	at, given []int64
}

// NewInput returns an Input.
func NewInput[T any]() *Input[T] {
	in := &Input[T]{ended: make(chan struct{})}
	in.close = sync.OnceFunc(func() { close(in.ended) })
	return in
}

// Stream returns the stream of the pushed values.
func (in *Input[T]) Stream() Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		return in.attach(s, to, func(src *source) error {
			select {
			case <-in.ended:
				return nil
			case <-src.ctx.Done():
				return ErrStopped
			}
		})
	}}
}

// inputKind is the kind of the state of an Input.
const inputKind = "input"

// attach makes the Input push values to an output, until read returns.
func (in *Input[T]) attach(s *scope, to output[T], read func(*source) error) upstream {
	in.mu.Lock()
	defer in.mu.Unlock()
	check(in.src == nil, func() error { return errUsedTwice })
	in.run, in.to = s.run, to
	in.cell, _ = newCell(s, inputKind, &in.last, func() (uint64, bool) { return in.last, in.last > 0 })
	in.src = s.newSource(to.end, read)
	return in.src.upstream()
}

// Last returns the sequence number of the last value that is in the state, after Start. 0 means none. The source goes on behind it.
func (in *Input[T]) Last() uint64 {
	src, err := in.source()
	if err != nil {
		return 0
	}
	src.run.mu.Lock()
	defer src.run.mu.Unlock()
	return in.last
}

// Push passes a value to the operators. When it returns, they have handled it and, if the run has a Store, their state is stored. at is the
// time of the value at its source, in Unix nanoseconds, for EventTime; 0 means now. The error is why the run has ended.
func (in *Input[T]) Push(v T, at int64) error {
	src, err := in.source()
	if err != nil {
		return err
	}
	return src.run.enter(src, func() { in.push(v, at, 0) })
}

// Batch passes many values in one turn: f pushes them, with their times and sequence numbers. Their state is stored once. A sequence number
// of 0 means none.
func (in *Input[T]) Batch(f func(push func(v T, at int64, sequence uint64))) error {
	src, err := in.source()
	if err != nil {
		return err
	}
	return src.run.enter(src, func() {
		f(in.gather)
		in.passGathered()
	})
}

func (in *Input[T]) source() (*source, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.src == nil {
		return nil, errors.New("operator: an Input got a value before Start")
	}
	return in.src, nil
}

// push passes on a value, unless no further ones are wanted.
func (in *Input[T]) push(v T, at int64, sequence uint64) {
	r := in.run
	if in.src.ended || !in.isNew(sequence) {
		return
	}
	r.given = cmp.Or(at, r.wall.now)
	in.to.next(v, r.wall.now)
	r.given = r.wall.now
}

// gather passes on a value, at the latest by passGathered in the same turn.
func (in *Input[T]) gather(v T, at int64, sequence uint64) {
	if !in.to.takesBatches() {
		in.push(v, at, sequence)
		return
	}
	if in.src.ended || !in.isNew(sequence) {
		return
	}
	in.gathered, in.given = append(in.gathered, v), append(in.given, cmp.Or(at, in.run.wall.now))
	if len(in.gathered) == batchSize {
		in.passGathered()
	}
}

func (in *Input[T]) passGathered() {
	n := len(in.gathered)
	if n == 0 {
		return
	}
	in.at = slices.Grow(in.at[:0], n)[:n]
	fill(in.at, in.run.wall.now)
	in.to.all(&batch[T]{in.gathered, in.at, in.given, allIndices[:n]})
	clear(in.gathered)
	in.gathered, in.given = in.gathered[:0], in.given[:0]
}

// isNew reports whether the state does not have the value of a sequence number, and notes the number.
func (in *Input[T]) isNew(sequence uint64) bool {
	if sequence == 0 {
		return true
	}
	if sequence <= in.last {
		in.run.stats.Repeated++
		return false
	}
	in.last = sequence
	in.cell.touch()
	return true
}

// Close ends the stream. The run ends when all its sources have ended.
func (in *Input[T]) Close() { in.close() }
