package durable

import "math"

// Next returns the next delivery that is possible now. ok is false if there is none. The record is in flight afterwards, so the
// caller sends it, and sets Blocked of the member if its stream is full then.
func (w *Window) Next(now int64) (d Delivery, ok bool) {
	for {
		if len(w.resumed.keys) > 0 {
			e, m, again := w.nextResumed(now)
			if e != nil {
				return w.send(e, m, now), true
			}
			if again {
				continue
			}
			return d, false
		}
		if w.scan == len(w.slots) {
			return d, false
		}
		e := w.slots[w.scan].entry
		if e.state == waiting && e.key.state == open {
			m := w.receiver(e.key)
			switch {
			case m != nil:
				w.scan++
				return w.send(e, m, now), true
			case e.key.inFlight == 0:
				return d, false // no member can receive
			}
			w.park(e.key)
		}
		w.scan++
	}
}

// nextResumed returns the record of the resumed key whose turn it is, with its member. again means that another key may have one.
func (w *Window) nextResumed(now int64) (e *entry, m *Member, again bool) {
	k := w.resumed.keys[0]
	e = k.unsent
	if e == nil || e.sequence >= w.scanned() {
		w.resumed.remove(k)
		k.state = open
		return nil, nil, true
	}
	if e.at > now {
		w.resumed.remove(k)
		w.resumeAt(k, now)
		return nil, nil, true
	}
	m = w.receiver(k)
	switch {
	case m != nil:
		if e.next == nil {
			w.resumed.remove(k)
			k.state = open
		} else {
			w.resumed.update(k, e.next.sequence)
		}
		return e, m, false
	case k.inFlight == 0:
		return nil, nil, false // no member can receive
	}
	w.resumed.remove(k)
	w.park(k)
	return nil, nil, true
}

// scanned returns the first sequence number that Next has not looked at.
func (w *Window) scanned() uint64 {
	if w.scan == len(w.slots) {
		return math.MaxUint64
	}
	return w.slots[w.scan].sequence
}

// receiver returns the member that may receive the next record of k, or nil.
func (w *Window) receiver(k *key) *Member {
	switch {
	case k.inFlight == 0:
		return w.choose(k.avoid)
	case k.member.ready():
		return k.member
	}
	return nil
}

func (w *Window) park(k *key) {
	k.state = parked
	k.member.parked = append(k.member.parked, k)
}

// resume makes k, which is in no heap, available to Next.
func (w *Window) resume(k *key) {
	if k.unsent == nil {
		k.state = open
		return
	}
	k.state = resumed
	w.resumed.push(k, k.unsent.sequence)
}

// send notes that e is in flight at m.
func (w *Window) send(e *entry, m *Member, now int64) Delivery {
	k := e.key
	d := Delivery{Member: m, Sequence: e.sequence, Before: e.deliveries, Content: e.content, last: e.member, avoid: k.avoid}
	if e.deliveries > 0 {
		w.Redelivered++
	}
	e.state, e.at, e.member = inFlight, now, m
	e.deliveries++
	m.append(e)
	k.unsent, k.member, k.avoid = e.next, m, nil
	k.inFlight++
	m.Credit -= len(e.content.B)
	return d
}
