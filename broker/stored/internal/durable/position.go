package durable

import (
	"cmp"
	"slices"

	"example.com/ferry/engine"
)

// Position returns which records are done: all that were read, except those in the Window, and which others were delivered in vain.
// Its slices are valid until the next call. If there are more than engine.MaxDone gaps, the last ones are left out; a cursor that
// resumes there reads their records again. ok is false before the first record was read.
func (w *Window) Position() (p engine.Position, ok bool) {
	if !w.started {
		return p, false
	}
	ranges, counts := w.ranges[:0], w.counts[:0]
	p.Floor = w.read
	var before uint64 // the undone record before
	for _, s := range w.slots[w.first:] {
		if s.entry.state == done {
			continue
		}
		if n := s.entry.failed(); n > 0 {
			counts = append(counts, engine.Deliveries{Sequence: s.sequence, Count: n})
		}
		switch {
		case before == 0:
			p.Floor = s.sequence - 1
		case s.sequence > before+1 && len(ranges) < engine.MaxDone:
			ranges = append(ranges, engine.Range{First: before + 1, Count: s.sequence - before - 1})
		}
		before = s.sequence
	}
	if before != 0 && w.read > before && len(ranges) < engine.MaxDone {
		ranges = append(ranges, engine.Range{First: before + 1, Count: w.read - before})
	}
	counts = append(counts, w.known...)
	w.ranges, w.counts = ranges, counts
	p.Done, p.Deliveries = ranges, most(counts)
	return p, true
}

// failed returns how many deliveries of a record are known to have failed.
func (e *entry) failed() uint32 {
	if e.state == inFlight {
		return e.deliveries - 1
	}
	return e.deliveries
}

// most returns list, or as many of its records as a Position may have: those that were delivered most often.
func most(list []engine.Deliveries) []engine.Deliveries {
	if len(list) <= engine.MaxDeliveries {
		return list
	}
	slices.SortStableFunc(list, func(a, b engine.Deliveries) int { return cmp.Compare(b.Count, a.Count) })
	list = list[:engine.MaxDeliveries]
	slices.SortFunc(list, func(a, b engine.Deliveries) int { return compareSequence(a, b.Sequence) })
	return list
}

func compareSequence(d engine.Deliveries, sequence uint64) int {
	return cmp.Compare(d.Sequence, sequence)
}
