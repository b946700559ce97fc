package operator

import "fmt"

// maxZip is the most values of one stream of Zip that wait for the other.
const maxZip = 1 << 16

// Zip passes on f of the first values of both streams, of their second values, and so on, with the later one's time. It ends when a stream
// has ended whose values are all used. If 65536 values of one stream wait for the other one, the run ends with an error. The values that
// wait are state.
func Zip[A, B, R any](a Stream[A], b Stream[B], f func(A, B) R) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) clock {
		o := &zip[A, B, R]{f: f, to: to}
		o.cell, _ = newCell(s, "zip", &o.waits, func() (zipState[A, B], bool) { return o.waits, len(o.waits.A)+len(o.waits.B) > 0 })
		first := a.connect(s, output[A]{
			next: func(v A, at int64) {
				o.waits.A = append(o.waits.A, zipValue[A]{v, at})
				o.pair()
			},
			end: func() {
				o.endedA = true
				o.end()
			},
		})
		second := b.connect(s, output[B]{
			next: func(v B, at int64) {
				o.waits.B = append(o.waits.B, zipValue[B]{v, at})
				o.pair()
			},
			end: func() {
				o.endedB = true
				o.end()
			},
		})
		return earliest([]clock{first, second})
	}}
}

// zip has the values of one stream that wait for the other one.
type zip[A, B, R any] struct {
	f                     func(A, B) R
	to                    output[R]
	cell                  *cell
	waits                 zipState[A, B]
	endedA, endedB, ended bool
}

type zipState[A, B any] struct {
	A []zipValue[A]
	B []zipValue[B]
}

type zipValue[V any] struct {
	Value V
	At    int64
}

// pair passes on the first pair, if there is one.
func (o *zip[A, B, R]) pair() {
	o.cell.touch()
	w := &o.waits
	check(len(w.A) <= maxZip && len(w.B) <= maxZip, func() error { return fmt.Errorf("zip: more than %d values of one stream wait for the other", maxZip) })
	if len(w.A) == 0 || len(w.B) == 0 {
		return
	}
	a, b := w.A[0], w.B[0]
	w.A, w.B = w.A[1:], w.B[1:]
	o.to.next(o.f(a.Value, b.Value), max(a.At, b.At))
	o.end()
}

// end ends the stream if no further pair can come.
func (o *zip[A, B, R]) end() {
	if !o.ended && (o.endedA && len(o.waits.A) == 0 || o.endedB && len(o.waits.B) == 0) {
		o.ended = true
		o.to.end()
	}
}
