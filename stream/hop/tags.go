package hop

import (
	"fmt"
	"sync/atomic"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// tag is one topic that is published on. It keeps its number while a publisher has a right to it or a message waits on it;
// then the broker frees it. the fields from past on are guarded by the hop's lock.
type tag struct {
	id    uint32
	name  string
	route atomic.Pointer[route] // nil: to be built by the next publisher
	in    counters

	past    Traffic // out to lanes that are closed
	freed   bool
	users   int                // publishers, and lanes whose queue is being passed on
	creator string             // name of the identity that asked for the tag first
	index   int                // in tagTable.all
	lanes   map[*lane]struct{} // of all subscriptions that match
	swept   bool               // in tagTable.unused
}

// tagTable is all tags in use, guarded by the hop's lock.
type tagTable struct {
	max     int
	byName  map[string]*tag
	byID    map[uint32]*tag
	all     []*tag
	created map[string]int // tags by their creator
	nextID  uint32
	unused  peer.FIFO[*tag] // without users, but with messages queued when the last user left
	freed   TagStats        // traffic of all tags that were freed
}

func newTagTable(limit int) tagTable {
	return tagTable{max: limit, byName: map[string]*tag{}, byID: map[uint32]*tag{}, created: map[string]int{}}
}

// acquire returns the tag of that name with one user more, and makes it if it is new. The last sixteenth of the tags is
// left to identities that have created few.
func (tt *tagTable) acquire(name, identity string) (*tag, error) {
	t := tt.byName[name]
	if t == nil {
		tt.sweep(sweepStep)
		reserve := tt.max / 16
		switch n := len(tt.all); {
		case n >= tt.max:
			return nil, &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("the node knows %d tags already, its limit", tt.max)}
		case n >= tt.max-reserve && tt.created[identity] > reserve:
			return nil, &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("identity %q uses %d tags already, and the last %d of %d are kept for others", identity, tt.created[identity], reserve, tt.max)}
		}
		t = &tag{id: tt.number(), name: name, creator: identity, index: len(tt.all), lanes: map[*lane]struct{}{}}
		tt.byName[name], tt.byID[t.id] = t, t
		tt.all = append(tt.all, t)
		tt.created[identity]++
	}
	t.users++
	return t, nil
}

// number returns a free tag number. Numbers are reused as late as possible, so that a CREDIT for a freed tag, which is still
// on its way, does not meet a new tag of that number; and from a bounded range, so that clients keep a bounded table.
func (tt *tagTable) number() uint32 {
	for {
		id := tt.nextID
		tt.nextID = (tt.nextID + 1) % uint32(2*tt.max)
		if tt.byID[id] == nil {
			return id
		}
	}
}

// release takes one user from t, and frees t if that was the last one and nothing waits on it.
func (tt *tagTable) release(t *tag) {
	if t.users--; t.users == 0 && !tt.free(t) && !t.swept {
		t.swept = true
		tt.unused.Push(t)
	}
}

// sweepStep is how many unused tags one request for a new tag looks at: their queues may be empty by now.
const sweepStep = 64

func (tt *tagTable) sweep(most int) {
	for range min(most, tt.unused.Len()) {
		t := tt.unused.Pop()
		if t.swept = t.users == 0 && tt.byID[t.id] == t && !tt.free(t); t.swept {
			tt.unused.Push(t)
		}
	}
}

// free frees t, which has no user, unless one of its lanes holds messages or its client has not given back half of its
// window: such a client still has messages of t to handle. It reports whether t was freed.
func (tt *tagTable) free(t *tag) bool {
	for l := range t.lanes {
		if !l.idle() {
			return false
		}
	}
	for l := range t.lanes { // without a user nothing makes a lane busy again
		l.sub.session.mu.Lock()
		l.out.Lock()
		l.closed = true
		t.past.add(l.sent)
		l.sub.past.add(l.sent)
		l.sub.pastDropped += l.dropped
		delete(l.sub.lanes, t.id)
		l.out.unlock()
		l.sub.session.mu.Unlock()
	}
	last := tt.all[len(tt.all)-1]
	tt.all[t.index], last.index = last, t.index
	tt.all[len(tt.all)-1] = nil
	tt.all = tt.all[:len(tt.all)-1]
	delete(tt.byName, t.name)
	delete(tt.byID, t.id)
	if tt.created[t.creator]--; tt.created[t.creator] == 0 {
		delete(tt.created, t.creator)
	}
	tt.freed.In.add(t.in.load())
	tt.freed.Out.add(t.past)
	t.freed = true
	return true
}

// idle reports whether nothing waits in the lane and the client has given back more than half of its window.
func (l *lane) idle() bool {
	l.out.Lock()
	defer l.out.Unlock()
	return l.queue.Bytes() == 0 && l.credit > l.sub.window/2
}
