package durable

import "time"

// NakKind says what a NAK means for its records.
type NakKind uint8

// The kinds.
const (
	Retry   NakKind = iota // deliver the record again
	Reject                 // never deliver it again
	Untried                // the member has not tried it: deliver it again, and do not count this delivery
)

// Ack notes that m has handled the records with count sequence numbers from first. Others than those that m holds, or held last, are
// left alone. It returns how many records are done.
func (w *Window) Ack(m *Member, first uint64, count uint32, now int64) (n int) {
	w.each(first, count, func(e *entry) {
		if e.member == m && (e.state == inFlight || e.state == waiting) {
			w.finish(e, now)
			n++
		}
	})
	m.Acked += uint64(n)
	w.trim()
	return n
}

// Progress makes the time in which m has to ack the records that it holds begin again.
func (w *Window) Progress(m *Member, now int64) { m.progress = max(m.progress, now) }

// Nak notes that m has not handled records. A delay of 0 means that of Config.Backoff.
func (w *Window) Nak(m *Member, first uint64, count uint32, kind NakKind, delay time.Duration, reason string, now int64) {
	w.each(first, count, func(e *entry) {
		if e.member != m || e.state != inFlight {
			return
		}
		switch kind {
		case Untried:
			w.comeBack(e, now, now, false, reason)
			return
		case Reject:
			w.retire(e, now, reason)
		case Retry:
			at := now + int64(delay)
			if delay <= 0 {
				at = now + int64(w.backoff(e))
			}
			w.comeBack(e, now, at, true, reason)
		}
		m.Naked++
	})
}

// Undo takes back the delivery that Next has just returned: its member has not taken the record, which waits again, in front of the other waiting ones of its key.
// Unlike one that comes back, it was not sent: it need not wait until the records before it are acked, and a late ACK of the member that held it before counts.
func (w *Window) Undo(d Delivery) {
	w.each(d.Sequence, 1, func(e *entry) {
		k := e.key
		w.land(e)
		e.state, e.member, k.avoid = waiting, d.last, d.avoid
		if e.deliveries--; e.deliveries > 0 {
			w.Redelivered--
		}
		if k.unsent = e; k.state == resumed {
			w.resumed.update(k, e.sequence)
		} else {
			w.resume(k)
		}
	})
}

// Expire handles what is due: records that were not acked in time came back, and delayed keys are delivered again.
func (w *Window) Expire(now int64) {
	for _, m := range w.members {
		for {
			at, ok := w.due(m)
			if !ok || at > now {
				break
			}
			m.Expired++
			w.comeBack(m.oldest, now, now+int64(w.backoff(m.oldest)), true, "it was not acked in time")
		}
	}
	for len(w.delayed.keys) > 0 && int64(w.delayed.keys[0].rank) <= now {
		k := w.delayed.keys[0]
		w.delayed.remove(k)
		w.resume(k)
	}
}

// Wake returns when Expire has something to do next. ok is false if it never has.
func (w *Window) Wake() (at int64, ok bool) {
	for _, m := range w.members {
		if due, holds := w.due(m); holds && (!ok || due < at) {
			at, ok = due, true
		}
	}
	if len(w.delayed.keys) > 0 {
		if due := int64(w.delayed.keys[0].rank); !ok || due < at {
			at, ok = due, true
		}
	}
	return at, ok
}

// TakeDead returns the dead letters since the last call. The slice is valid until the next call of a method.
func (w *Window) TakeDead() []DeadLetter {
	taken := w.dead
	w.dead = w.dead[:0]
	return taken
}

// Bury notes that a dead letter is stored elsewhere, or dropped: the record is done. It returns false if the Window has no such dead
// letter.
func (w *Window) Bury(sequence uint64) (ok bool) {
	w.each(sequence, 1, func(e *entry) {
		if e.state == dying {
			w.dying--
			w.release(e)
			ok = true
		}
	})
	w.trim()
	return ok
}

// each passes the entries of a range that are not done to visit.
func (w *Window) each(first uint64, count uint32, visit func(*entry)) {
	if count == 0 {
		return
	}
	last := first + uint64(count) - 1
	if last < first {
		last = ^uint64(0)
	}
	for i := w.search(first); i < len(w.slots) && w.slots[i].sequence <= last; i++ {
		w.Looked++
		if e := w.slots[i].entry; e.state != done {
			visit(e)
		}
	}
}

func (w *Window) backoff(e *entry) time.Duration {
	if len(w.cfg.Backoff) == 0 {
		return 0
	}
	return w.cfg.Backoff[min(int(e.deliveries), len(w.cfg.Backoff))-1]
}

// comeBack makes a record that is in flight waiting again, not to be sent before at. If the delivery counts and was the last one, the
// record is a dead letter.
func (w *Window) comeBack(e *entry, now, at int64, counts bool, reason string) {
	if counts && w.cfg.MaxDeliveries > 0 && int(e.deliveries) >= w.cfg.MaxDeliveries {
		w.retire(e, now, reason)
		return
	}
	k := e.key
	w.land(e)
	e.state, e.at = waiting, at
	if counts {
		w.Changed = true
	} else {
		e.deliveries--
	}
	k.avoid = e.member
	switch k.state {
	case resumed:
		w.resumed.remove(k)
	case delayed:
		w.delayed.remove(k)
	case open, parked, draining:
	}
	k.state = draining
	if k.inFlight == 0 {
		w.restart(k, now)
	}
}

// retire makes a record that is in flight a dead letter. Its key goes on without it.
func (w *Window) retire(e *entry, now int64, reason string) {
	w.land(e)
	w.unlink(e)
	w.die(e, reason)
	w.advance(e.key, now)
}

func (w *Window) die(e *entry, reason string) {
	e.state, w.Changed = dying, true
	w.dying++
	w.dead = append(w.dead, DeadLetter{e.sequence, e.deliveries, e.content, reason})
}

// finish releases a record that was handled.
func (w *Window) finish(e *entry, now int64) {
	k := e.key
	if e.state == inFlight {
		w.land(e)
	}
	w.unlink(e)
	w.release(e)
	w.advance(k, now)
}

// land removes a record from those in flight.
func (w *Window) land(e *entry) {
	e.member.remove(e)
	e.key.inFlight--
}

// unlink removes a record from its key.
func (w *Window) unlink(e *entry) {
	k := e.key
	if k.unsent == e {
		k.unsent = e.next
	}
	if e.prev == nil {
		k.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		k.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}

// release makes a record done.
func (w *Window) release(e *entry) {
	w.Changed = true
	w.undone--
	w.used -= overhead + cap(e.content.B)
	e.content.Release()
	e.content, e.key, e.member, e.state = nil, nil, nil, done
}

// advance changes the state of a key after a record of it has gone.
func (w *Window) advance(k *key, now int64) {
	if k.head == nil {
		switch k.state {
		case resumed:
			w.resumed.remove(k)
		case delayed:
			w.delayed.remove(k)
		case open, parked, draining:
		}
		delete(w.keys, k.hash)
		if len(w.freeKeys) < maxFree { // its member may have it in parked, where an entry of another key does no harm
			k.state = open
			w.freeKeys = append(w.freeKeys, k)
		}
		return
	}
	switch k.state {
	case parked:
		if k.inFlight == 0 {
			w.resume(k)
		}
	case draining:
		if k.inFlight == 0 {
			w.restart(k, now)
		}
	case resumed:
		if k.unsent == nil {
			w.resumed.remove(k)
			k.state = open
		} else {
			w.resumed.update(k, k.unsent.sequence)
		}
	case delayed:
		w.delayed.remove(k)
		w.resumeAt(k, now)
	case open:
	}
}

// restart delivers the records of a key again from the first one. None is in flight.
func (w *Window) restart(k *key, now int64) {
	k.unsent = k.head
	w.resumeAt(k, now)
}

// resumeAt makes k, which is in no heap, available to Next when the time of its next record has come.
func (w *Window) resumeAt(k *key, now int64) {
	if k.unsent != nil && k.unsent.at > now {
		k.state = delayed
		w.delayed.push(k, uint64(k.unsent.at))
		return
	}
	w.resume(k)
}
