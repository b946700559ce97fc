package broker

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/broker/internal/routes"
	"example.com/ferry/broker/stats"
	"example.com/ferry/broker/stored"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// tag is one topic that is published on. The broker frees a tag when no publisher has a grant for it and no message of
// the tag is queued.
type tag struct {
	stored.Tag
	route atomic.Pointer[route] // nil until the next publisher builds the route
	in    stats.Counter

	// Guarded by the broker's lock.
	past    stats.Traffic // traffic out of queues that were closed
	freed   bool
	users   int                         // number of publishers, plus closed queues that are being redistributed
	creator string                      // name of the identity that first requested the tag
	index   int                         // index in tagTable.all
	queues  map[*deliveryQueue]struct{} // open delivery queues of the tag
	pending bool                        // the tag is in tagTable.unused
}

// tagTable holds all tags in use. The broker's lock guards it.
type tagTable struct {
	limit   int
	byName  map[string]*tag
	byID    map[uint32]*tag
	levels  routes.Levels[*tag]
	all     []*tag
	created map[string]int  // number of tags by creator
	nextID  uint32          // number at which the next search begins
	unused  peer.FIFO[*tag] // tags that had messages queued when their last user left
	freed   TagStats        // traffic of all freed tags
	streams *stored.Store   // that store tags
}

func newTagTable(limit int, streams *stored.Store) tagTable {
	return tagTable{
		limit: limit, byName: map[string]*tag{}, byID: map[uint32]*tag{}, created: map[string]int{}, streams: streams,
	}
}

// acquire returns the tag of that name and adds a user. It creates the tag if necessary. The last sixteenth of the tags
// is reserved for identities that have created at most that many tags.
func (tt *tagTable) acquire(name, identity string) (*tag, error) {
	t := tt.byName[name]
	if t == nil {
		tt.sweep(sweepStep)
		reserve := tt.limit / 16
		switch n := len(tt.all); {
		case n >= tt.limit:
			return nil, &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("the node knows %d tags already, its limit", tt.limit)}
		case n >= tt.limit-reserve && tt.created[identity] > reserve:
			return nil, &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("identity %q uses %d tags already, and the last %d of %d are kept for others", identity, tt.created[identity], reserve, tt.limit)}
		}
		t = &tag{Tag: stored.Tag{Tag: outlet.Tag{ID: tt.number(), Name: name}}, creator: identity, index: len(tt.all), queues: map[*deliveryQueue]struct{}{}}
		t.SetStream(tt.streams.Of(name))
		tt.byName[name], tt.byID[t.ID] = t, t
		tt.levels.Set(name, t)
		tt.all = append(tt.all, t)
		tt.created[identity]++
	}
	t.users++
	return t, nil
}

// number returns a free tag number. It reuses a number as late as possible, because a CREDIT for the freed tag may
// still arrive. Numbers have a bounded range, because clients store an entry for each number.
func (tt *tagTable) number() uint32 {
	for {
		id := tt.nextID
		tt.nextID = (tt.nextID + 1) % uint32(2*tt.limit)
		if tt.byID[id] == nil {
			return id
		}
	}
}

// release removes one user of t. After the last user it frees t, or, if messages are queued, leaves that to a later
// sweep.
func (tt *tagTable) release(t *tag) {
	if t.users--; t.users == 0 && !tt.free(t) && !t.pending {
		t.pending = true
		tt.unused.Push(t)
	}
}

// sweepStep is the number of unused tags that a request for a new tag tries to free.
const sweepStep = 64

// sweep tries to free at most n unused tags.
func (tt *tagTable) sweep(n int) {
	for range min(n, tt.unused.Len()) {
		t := tt.unused.Pop()
		if t.pending = t.users == 0 && !t.freed && !tt.free(t); t.pending {
			tt.unused.Push(t)
		}
	}
}

// free frees t, which has no user, and reports whether it did. It does not free t if a queue of t holds messages, or if
// messages of t wait to be stored. It also does not if a client has not returned more than half of its window, because that client still handles messages
// of t.
func (tt *tagTable) free(t *tag) bool {
	if t.Appending() {
		return false
	}
	for q := range t.queues {
		if x := q.Stats(); x.Bytes > 0 || x.Credit <= q.sub.Window/2 {
			return false
		}
	}
	for q := range t.queues { // safe: t has no user, so nothing is pushed meanwhile
		q.sub.session.mu.Lock()
		_, last, resume := q.Close()
		t.past.Add(last.Sent)
		q.sub.past.Add(last.Sent)
		q.sub.pastDropped += last.Dropped
		delete(q.sub.queues, t.ID)
		q.sub.recent[t.ID%uint32(len(q.sub.recent))].CompareAndSwap(q, nil)
		q.sub.session.mu.Unlock()
		if resume != nil {
			resume()
		}
	}
	last := tt.all[len(tt.all)-1]
	tt.all[t.index], last.index = last, t.index
	tt.all[len(tt.all)-1] = nil
	tt.all = tt.all[:len(tt.all)-1]
	delete(tt.byName, t.Name)
	tt.levels.Delete(t.Name)
	delete(tt.byID, t.ID)
	if tt.created[t.creator]--; tt.created[t.creator] == 0 {
		delete(tt.created, t.creator)
	}
	tt.freed.In.Add(t.in.Load())
	tt.freed.Out.Add(t.past)
	t.freed = true
	return true
}

// queuesOf returns the open queues of a tag.
func (b *Broker) queuesOf(t *tag) []*deliveryQueue {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(t.queues))
}
