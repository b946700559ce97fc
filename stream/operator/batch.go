package operator

// batchSize is the most values of a batch.
const batchSize = 1024

// batch is a run of values that operators pass on together, so that a value costs a turn of a loop instead of a call. It is valid during
// the call that it is passed to.
type batch[T any] struct {
	values []T
	at     []int64 // time of each value
	given  []int64 // time that the source has given to each value
	chosen []int32 // indices of the values that are passed on, in order
}

// taking says how an operator takes a batch.
type taking uint8

const (
	// oneByOne means that the operator takes no batches.
	oneByOne taking = iota

	// whileEmitting means that results may be passed on while the batch is taken. The clock must not move during the batch.
	whileEmitting

	// quietly means that no result is passed on while the batch is taken. The clock may move, but not to timeline.horizon.
	quietly
)

// takesBatches reports whether a source on the wall clock, which does not move during a turn, may pass batches to the output.
func (to output[T]) takesBatches() bool { return to.taking() != oneByOne }

// taking returns how the output takes batches.
func (to output[T]) taking() taking {
	if to.takes == nil {
		return oneByOne
	}
	return to.takes()
}

// takesEmitting is the takes of an operator that may pass on something besides the batch, or end, while it takes a batch.
func (to output[T]) takesEmitting() taking { return min(to.taking(), whileEmitting) }

func takesQuietly() taking       { return quietly }
func takesWhileEmitting() taking { return whileEmitting }

// singly connects a stream to an operator that takes values one by one. The operators before it may pass batches.
func singly[T any](s *scope, in Stream[T], next func(v T, at int64), end func()) upstream {
	r, stopped := s.run, false
	u := in.connect(s, output[T]{next: next, end: end, takes: takesWhileEmitting, all: func(b *batch[T]) {
		for k := 0; k < len(b.chosen) && !stopped; k++ {
			i := b.chosen[k]
			r.given = b.given[i]
			next(b.values[i], b.at[i])
		}
		r.given = r.wall.now
	}})
	return upstream{u.clock, func() {
		stopped = true
		u.stop()
	}}
}

// allIndices are the indices of a whole batch.
var allIndices = func() (all [batchSize]int32) {
	for i := range all {
		all[i] = int32(i)
	}
	return all
}()

// fill makes all elements v.
func fill(list []int64, v int64) {
	for i := range list {
		list[i] = v
	}
}

// indexBuffers are buffers of indices, which the operators of a run use in turn.
type indexBuffers struct{ free [][]int32 }

// take returns a buffer of batchSize indices.
func (p *indexBuffers) take() []int32 {
	last := len(p.free) - 1
	if last < 0 {
		return make([]int32, batchSize)
	}
	b := p.free[last]
	p.free = p.free[:last]
	return b
}

// release gives back a buffer.
func (p *indexBuffers) release(b []int32) { p.free = append(p.free, b) }
