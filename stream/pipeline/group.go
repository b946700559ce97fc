package pipeline

import (
	"container/heap"
	"container/list"
	"math"
	"time"
)

// never is a time that does not come.
const never = math.MaxInt64

// slot is the state of one step for one group.
type slot interface {
	due() int64          // when advance must be called, in Unix nanoseconds; or never
	open() int           // windows and messages that it holds
	idle(now int64) bool // it can be dropped: a new slot would do the same
	append(dst []byte) []byte
	read(s *saved)
}

// group is the state of all steps for one group of messages.
type group struct {
	key    string
	tag    string // of the message with which it began
	fields []byte // first fields of its records: names and values of group_by
	slots  []slot // by step; nil until the step has state

	due    int64
	at     int // index in the heap; -1 if it is not there
	recent *list.Element
	open   int

	used    int64 // time of the last message
	expires int64 // when the group may be dropped because it has had no message; never if it may not

	// Of a pipeline that saves its state.
	applied map[string]uint64 // highest sequence number in this state, by keyID of the key within which the stream keeps its order
	input   uint64            // run.inputs of the last message
	enough  int               // keys of applied at which some are forgotten
	sent    uint64            // number of the next result
	pending []result          // results that are not known to be stored
	dirty   bool              // to be saved
	gone    bool              // removed from the groups
}

// update computes due and open again. It returns the change of open.
func (g *group) update() (opened int) {
	g.due, opened, g.open = never, -g.open, 0
	for _, s := range g.slots {
		if s != nil {
			g.due = min(g.due, s.due())
			g.open += s.open()
		}
	}
	if g.open == 0 {
		g.due = min(g.due, g.expires)
	}
	return opened + g.open
}

func (g *group) idle(now int64) bool {
	for _, s := range g.slots {
		if s != nil && !s.idle(now) {
			return false
		}
	}
	return len(g.pending) == 0
}

// groups are the groups of a pipeline, at most limit.
type groups struct {
	limit  int
	idle   time.Duration // Config.GroupIdle
	byKey  map[string]*group
	recent list.List // of *group; the one that was used last is at the back
	queue  queue
	open   int // windows and messages that all groups hold
}

// updated puts g where its due belongs.
func (gs *groups) updated(g *group) {
	before := g.due
	gs.open += g.update()
	switch {
	case g.due == before:
	case g.at < 0 && g.due != never:
		heap.Push(&gs.queue, g)
	case g.at >= 0 && g.due == never:
		heap.Remove(&gs.queue, g.at)
	case g.at >= 0:
		heap.Fix(&gs.queue, g.at)
	}
}

// add adds a group at a time.
func (gs *groups) add(g *group, now int64) {
	g.at, g.due, g.used, g.expires = -1, never, now, never
	if gs.idle > 0 {
		g.expires = now + int64(gs.idle)
	}
	g.recent = gs.recent.PushBack(g)
	gs.byKey[g.key] = g
}

// expired reports whether g has had no message for GroupIdle and holds nothing. If it does not, expired sets when it may be.
func (gs *groups) expired(g *group, now int64) bool {
	if gs.idle == 0 || g.open > 0 || g.expires > now {
		return false
	}
	idle := int64(gs.idle)
	if g.used <= now-idle && len(g.pending) == 0 {
		return true
	}
	if g.expires = g.used + idle; g.expires <= now {
		g.expires = now + idle
	}
	gs.updated(g)
	return false
}

func (gs *groups) remove(g *group) {
	if g.at >= 0 {
		heap.Remove(&gs.queue, g.at)
	}
	gs.open -= g.open
	gs.recent.Remove(g.recent)
	delete(gs.byKey, g.key)
	g.gone = true
}

// maxLooks bounds how many groups crowded looks at.
const maxLooks = 8

// crowded returns a group that can make room for another one. It is nil if the first of those that were used longest ago hold
// something. The next call looks at others.
func (gs *groups) crowded(now int64) *group {
	e := gs.recent.Front()
	for range maxLooks {
		if e == nil {
			return nil
		}
		if g := e.Value.(*group); g.idle(now) {
			return g
		}
		gs.recent.MoveToBack(e)
		e = gs.recent.Front()
	}
	return nil
}

// next returns the group with the earliest due; nil if none has one.
func (gs *groups) next() *group {
	if len(gs.queue) == 0 {
		return nil
	}
	return gs.queue[0]
}

// queue is a heap of groups by due.
type queue []*group

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due < q[j].due }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

// Push is called by package heap.
func (q *queue) Push(x any) {
	g := x.(*group)
	g.at = len(*q)
	*q = append(*q, g)
}

// Pop is called by package heap.
func (q *queue) Pop() any {
	last := len(*q) - 1
	g := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	g.at = -1
	return g
}
