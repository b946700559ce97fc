package durable

import "example.com/ferry/engine"

// Position returns which records are done: all that were read, except those in the Window. Its Done is valid until the next call. If
// there are more than engine.MaxDone gaps, the last ones are left out; a cursor that resumes there reads their records again. ok is
// false before the first record was read.
func (w *Window) Position() (p engine.Position, ok bool) {
	if !w.started {
		return p, false
	}
	ranges := w.ranges[:0]
	p.Floor = w.read
	var before uint64 // the undone record before
	for _, s := range w.slots[w.first:] {
		if s.entry.state == done {
			continue
		}
		switch {
		case before == 0:
			p.Floor = s.sequence - 1
		case s.sequence > before+1:
			if ranges = append(ranges, engine.Range{First: before + 1, Count: s.sequence - before - 1}); len(ranges) == engine.MaxDone {
				p.Done, w.ranges = ranges, ranges
				return p, true
			}
		}
		before = s.sequence
	}
	if before != 0 && w.read > before {
		ranges = append(ranges, engine.Range{First: before + 1, Count: w.read - before})
	}
	p.Done, w.ranges = ranges, ranges
	return p, true
}
