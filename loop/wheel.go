package loop

import (
	"math/bits"
	"time"
)

const (
	tick       = 10 * time.Millisecond // what timers are rounded up to
	slotBits   = 6
	slots      = 1 << slotBits
	levels     = 5
	maxTicks   = 1<<(slotBits*levels) - 1 // 124 days; what is due later is looked at again then
	notInWheel = -1
)

// wheel keeps the timers of one loop: a hierarchical timing wheel (Varghese and Lauck, 1987, scheme 7). A slot of level k
// spans 64^k ticks; when its time comes its timers move down a level, and those of level 0 are due. Ticks are counted
// modulo 2^32, so only differences mean something.
//
// Most timeouts are moved again and again and never come. So a timer that is moved to later, or stopped, stays in its slot;
// when that comes up it is asked when it is really due.
type wheel struct {
	now    uint32
	used   [levels]uint64 // a bit for each slot that holds something
	levels [levels][slots]*entry
}

// entry is a timer's place in the wheel.
type entry struct {
	next, prev *entry
	owner      expirer
	at         uint32 // the tick at which the wheel looks at it
	level      int8   // notInWheel if it is in no slot
	slot       uint8
}

// expirer is what a timer belongs to.
type expirer interface {
	// due is the earliest tick at which something is to be done; ok is false if there is nothing.
	due() (at uint32, ok bool)
	// expire does what is due.
	expire(now uint32)
}

// after reports whether tick a lies after b.
func after(a, b uint32) bool { return int32(a-b) > 0 }

// schedule sees that e is looked at no later than at tick at.
func (w *wheel) schedule(e *entry, at uint32) {
	if e.level != notInWheel && !after(e.at, at) {
		return
	}
	w.remove(e)
	w.insert(e, at)
}

func (w *wheel) insert(e *entry, at uint32) {
	if !after(at, w.now) {
		at = w.now + 1
	}
	if at-w.now > maxTicks {
		at = w.now + maxTicks
	}
	level := (bits.Len32(at-w.now) - 1) / slotBits
	slot := uint8(at >> (level * slotBits) % slots)
	e.at, e.level, e.slot = at, int8(level), slot
	head := &w.levels[level][slot]
	e.prev, e.next = nil, *head
	if *head != nil {
		(*head).prev = e
	}
	*head = e
	w.used[level] |= 1 << slot
}

func (w *wheel) remove(e *entry) {
	if e.level == notInWheel {
		return
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		w.levels[e.level][e.slot] = e.next
		if e.next == nil {
			w.used[e.level] &^= 1 << e.slot
		}
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	e.next, e.prev, e.level = nil, nil, notInWheel
}

// next is how many ticks from now the first slot that holds something comes up; ok is false for an empty wheel.
func (w *wheel) next() (ticks uint32, ok bool) {
	for level, used := range w.used {
		if used == 0 {
			continue
		}
		shift := level * slotBits
		// The current slot has come up already: if it holds something, that is a whole turn ahead.
		ahead := bits.TrailingZeros64(bits.RotateLeft64(used, -int(w.now>>shift%slots)-1)) + 1
		start := (w.now>>shift + uint32(ahead)) << shift
		if d := start - w.now; !ok || d < ticks {
			ticks, ok = d, true
		}
	}
	return ticks, ok
}

// advance moves the wheel to tick to, and has everything expire that is due on the way.
func (w *wheel) advance(to uint32) {
	for {
		ticks, ok := w.next()
		if !ok || after(w.now+ticks, to) {
			w.now = to
			return
		}
		w.now += ticks
		for level := levels - 1; level > 0; level-- {
			shift := level * slotBits
			if w.now&(1<<shift-1) == 0 {
				w.empty(level, w.now>>shift%slots)
			}
		}
		w.empty(0, w.now%slots)
	}
}

// empty asks every timer of a slot when it is due.
func (w *wheel) empty(level int, slot uint32) {
	for {
		e := w.levels[level][slot]
		if e == nil {
			return
		}
		w.remove(e)
		at, ok := e.owner.due()
		if ok && !after(at, w.now) {
			e.owner.expire(w.now)
			at, ok = e.owner.due()
		}
		if ok {
			w.schedule(e, at)
		}
	}
}
