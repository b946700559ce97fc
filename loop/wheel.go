package loop

import (
	"math/bits"
	"time"
)

const (
	tick          = 10 * time.Millisecond // resolution of all timers, which are rounded up to it
	slotBits      = 6
	slotsPerLevel = 1 << slotBits
	wheelLevels   = 5
	wheelReach    = 1<<(slotBits*wheelLevels) - 1 // ticks, 124 days; an entry due later is checked after this time and inserted again
	notInWheel    = -1
	wheelShare    = 64 // most entries that the loop visits in one turn; each may close a connection
)

// wheel holds the timers of one loop. It is a hierarchical timing wheel (Varghese and Lauck, 1987, scheme 7). A slot of level
// k spans 64^k ticks. When the clock reaches a slot of level 0, its entries are due. When it reaches a slot of a higher level,
// the entries move down a level.
//
// Most timeouts are set to a later time again and again, and never expire. So a timer that is stopped or set to a later time
// stays in its slot. When the clock reaches that slot, the wheel asks the owner for the deadline and inserts the entry again.
type wheel struct {
	now      uint64              // ticks since the group was created
	behind   bool                // slots of the tick now, or of later ticks, are not visited yet: see advance
	occupied [wheelLevels]uint64 // bit i: slot i of the level holds an entry
	slots    [wheelLevels][slotsPerLevel]*wheelEntry
}

// wheelEntry is the entry of one timerOwner in the wheel.
type wheelEntry struct {
	next, prev *wheelEntry
	owner      timerOwner
	at         uint32 // low 32 bits of the tick at which the wheel checks the entry
	level      int8   // level of the slot; notInWheel if the entry is in no slot
	slot       uint8
	armed, far uint8 // of a Conn. Bit i: timer i is set, its deadline counts units of 2^farBits ticks
}

// timerOwner owns one wheelEntry and any number of timers.
type timerOwner interface {
	// nextDeadline returns the tick of the earliest timer that is set. ok is false if no timer is set.
	nextDeadline() (at uint64, ok bool)
	// expire calls the timers that are due at tick now.
	expire(now uint64)
}

// fullTick returns the tick nearest to now whose low 32 bits equal at.
func (w *wheel) fullTick(at uint32) uint64 { return w.now + uint64(int64(int32(at-uint32(w.now)))) }

// schedule makes the wheel check e at tick at, or earlier.
func (w *wheel) schedule(e *wheelEntry, at uint64) {
	if e.level != notInWheel && w.fullTick(e.at) <= at {
		return
	}
	w.remove(e)
	w.insert(e, at)
}

func (w *wheel) insert(e *wheelEntry, at uint64) {
	at = min(max(at, w.now+1), w.now+wheelReach)
	level := (bits.Len64(at-w.now) - 1) / slotBits
	slot := uint8(at >> (level * slotBits) % slotsPerLevel)
	e.at, e.level, e.slot = uint32(at), int8(level), slot
	head := &w.slots[level][slot]
	e.prev, e.next = nil, *head
	if *head != nil {
		(*head).prev = e
	}
	*head = e
	w.occupied[level] |= 1 << slot
}

func (w *wheel) remove(e *wheelEntry) {
	if e.level == notInWheel {
		return
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		w.slots[e.level][e.slot] = e.next
		if e.next == nil {
			w.occupied[e.level] &^= 1 << e.slot
		}
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	e.next, e.prev, e.level = nil, nil, notInWheel
}

// nextSlot returns the number of ticks until the clock reaches the next slot with an entry. ok is false if the wheel is empty.
func (w *wheel) nextSlot() (ticks uint64, ok bool) {
	for level, occupied := range w.occupied {
		if occupied == 0 {
			continue
		}
		shift := level * slotBits
		// The clock has already reached the current slot. So an entry in it is due one turn of the level later.
		ahead := bits.TrailingZeros64(bits.RotateLeft64(occupied, -int(w.now>>shift%slotsPerLevel)-1)) + 1
		begin := (w.now>>shift + uint64(ahead)) << shift
		if d := begin - w.now; !ok || d < ticks {
			ticks, ok = d, true
		}
	}
	return ticks, ok
}

// advance moves the clock to the tick to, and expires the timers that are due by then. It visits at most share entries. If there are more,
// it stops at the tick of the next one and sets behind. A later advance continues there.
//
// Thousands of connections opened together have idle timeouts in the same slots. Visiting all of them at once would delay every request
// of that turn by milliseconds, and closing them by a multiple.
func (w *wheel) advance(to uint64, share int) {
	for {
		if !w.behind {
			ticks, ok := w.nextSlot()
			if !ok || w.now+ticks > to {
				w.now = to
				return
			}
			w.now += ticks
		}
		share = w.visitTick(share)
		if w.behind {
			return
		}
	}
}

// visitTick visits the slots that the clock has reached, those of higher levels first. It returns how much of share is left, and sets
// behind if share did not suffice. While behind is set, an entry that is inserted is due after now, and so is in none of these slots: the
// clock is at the first tick of each.
func (w *wheel) visitTick(share int) (left int) {
	for level := wheelLevels - 1; level >= 0; level-- {
		shift := level * slotBits
		if w.now&(1<<shift-1) != 0 {
			continue
		}
		slot := w.now >> shift % slotsPerLevel
		for w.slots[level][slot] != nil {
			if share == 0 {
				w.behind = true
				return 0
			}
			share--
			w.visit(w.slots[level][slot])
		}
	}
	w.behind = false
	return share
}

// visit removes an entry from its slot, and expires its timers that are due. It inserts the entry again if a timer is set.
func (w *wheel) visit(e *wheelEntry) {
	w.remove(e)
	at, ok := e.owner.nextDeadline()
	if ok && at <= w.now {
		e.owner.expire(w.now)
		at, ok = e.owner.nextDeadline()
	}
	if ok {
		w.schedule(e, at)
	}
}
