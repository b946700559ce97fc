package operator

import "fmt"

// Zip passes on f of the first values of both streams, of their second values, and so on, with the later one's time. It ends when a stream
// has ended whose values are all used. If 65536 values of one stream wait for the other one, the run ends with an error. The values that
// wait are state.
func Zip[A, B, R any](a Stream[A], b Stream[B], f func(A, B) R) Stream[R] {
	return Stream[R]{func(s *scope, to output[R]) upstream {
		var first A
		var second B
		o := &zip{emit: func(at int64) { to.next(f(first, second), at) }, end: to.end}
		zipSide(s, o, a, &first)
		zipSide(s, o, b, &second)
		return o.connected()
	}}
}

// ZipAll is Zip for any number of streams of one type. It passes on the first values of all streams, in the order of the streams, and so on.
func ZipAll[T any](in ...Stream[T]) Stream[[]T] {
	return Stream[[]T]{func(s *scope, to output[[]T]) upstream {
		check(len(in) > 0, func() error { return fmt.Errorf("zip of no streams: want at least one") })
		row := make([]T, len(in))
		o := &zip{emit: func(at int64) { to.next(append([]T(nil), row...), at) }, end: to.end}
		for i, each := range in {
			zipSide(s, o, each, &row[i])
		}
		return o.connected()
	}}
}

// zip waits until all its sides have a value.
type zip struct {
	emit  func(at int64) // passes on the values that the sides have taken
	end   func()
	sides []*zipWaiting
	ups   []upstream
	up    upstream
	done  bool
}

// zipWaiting is one of the streams.
type zipWaiting struct {
	waiting int               // values
	take    func() (at int64) // takes the first one
	ended   bool
}

// connected returns the upstream of all sides.
func (o *zip) connected() upstream {
	o.up = earliest(o.ups)
	return o.up
}

// zipSide connects a stream. Its values are written to taken when they are used.
func zipSide[V any](s *scope, o *zip, in Stream[V], taken *V) {
	var waits queue[Timed[V]]
	c, _ := newCell(s, "zip", &waits.all, func() ([]Timed[V], bool) { return waits.list(), waits.len() > 0 })
	side := &zipWaiting{waiting: waits.len(), take: func() int64 {
		c.touch()
		v := waits.pop()
		*taken = v.Value
		return v.At
	}}
	o.sides = append(o.sides, side)
	o.ups = append(o.ups, singly(s, in, func(v V, at int64) {
		switch {
		case o.done:
		case side.waiting == 0 && o.others(side):
			*taken = v
			o.use(side, at)
		default:
			check(side.waiting < maxKept, func() error { return fmt.Errorf("zip: more than %d values of one stream wait for the other", maxKept) })
			waits.push(Timed[V]{v, at})
			side.waiting++
			c.touch()
		}
	}, func() {
		side.ended = true
		o.check()
	}))
}

// others reports whether all sides but one have values.
func (o *zip) others(but *zipWaiting) bool {
	for _, side := range o.sides {
		if side != but && side.waiting == 0 {
			return false
		}
	}
	return true
}

// use passes on the value that a side has got now, at a time, and the first ones of the others.
func (o *zip) use(now *zipWaiting, at int64) {
	for _, side := range o.sides {
		if side != now {
			at = max(at, side.take())
			side.waiting--
		}
	}
	o.emit(at)
	o.check()
}

// check ends the stream if no further values can come together.
func (o *zip) check() {
	for _, side := range o.sides {
		if !o.done && side.ended && side.waiting == 0 {
			o.done = true
			o.end()
			o.up.stop()
		}
	}
}
