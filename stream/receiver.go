package stream

import (
	"fmt"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// receiver handles the frames of one stream of a connection. It puts messages into the inboxes of the functions.
type receiver struct {
	conn     *conn
	tags     map[uint32]*observedTag // indexed by tag number
	selected *subscription           // subscription of the next PUBs; nil if it was stopped
	last     *inbox                  // inbox of the last run
	lastTag  uint32

	served, made callReceiver
	methods      map[uint16][]byte // METHODs of the stream, by number: a later session needs them too
}

// observedTag is a tag that the node has announced on the stream. A later announcement of the same number replaces it.
type observedTag struct {
	name    string
	inboxes map[inboxKey]*inbox
	credits map[uint32]*creditReturn // indexed by subscription
}

// inboxKey selects one of a tag's inboxes. Different inboxes of a tag are handled concurrently.
type inboxKey struct {
	subscription uint32
	shard        uint32 // shard of the source
}

// BatchBegins does nothing: adding to an inbox wakes a worker directly.
func (r *receiver) BatchBegins() {}

// BatchEnds does nothing.
func (r *receiver) BatchEnds() {}

// BeforePong returns true: the client confirms handled messages with CREDIT.
func (r *receiver) BeforePong(uint64) bool { return true }

// selectSubscription makes id the subscription of the next PUBs.
func (r *receiver) selectSubscription(id uint32) {
	r.conn.mu.Lock()
	r.selected = r.conn.subs[id]
	r.conn.mu.Unlock()
	r.last = nil
}

// announceTag stores the name of a tag number.
func (r *receiver) announceTag(t native.TagFrame) {
	if known := r.tags[t.Ref]; known == nil || known.name != t.Name {
		r.tags[t.Ref] = &observedTag{name: t.Name, inboxes: map[inboxKey]*inbox{}, credits: map[uint32]*creditReturn{}}
		r.last = nil
	}
}

// Pubs adds the first PUBs of batch that share an inbox to that inbox. It returns their length.
func (r *receiver) Pubs(batch []byte, shared *bufpool.Buf) (int, error) {
	first := native.Frame(batch)
	switch {
	case r.selected == nil:
		return native.Size(batch), nil // the function of these PUBs was stopped
	case r.selected.frame.Stored():
		return r.storedPubs(batch, shared)
	}
	shards := uint32(r.selected.pool.concurrency)
	shard := uint32(first.Source()) % shards
	in := r.last
	if in == nil || r.lastTag != first.Tag() || in.shard != shard {
		var err error
		if in, err = r.inboxOf(first.Tag(), shard); err != nil {
			return 0, err
		}
		r.last, r.lastTag = in, first.Tag()
	}
	end := native.Size(batch)
	for end < len(batch) {
		f := native.Frame(batch[end:])
		if f.Kind() != native.Pub || f.Tag() != r.lastTag || uint32(f.Source())%shards != shard {
			break
		}
		end += native.Size(f)
	}
	in.push(batch[:end], shared)
	return end, nil
}

// inboxOf returns the inbox of the selected subscription for a tag number and shard.
func (r *receiver) inboxOf(number, shard uint32) (*inbox, error) {
	t := r.tags[number]
	if t == nil {
		return nil, &native.Error{Code: native.CodeProtocol, Reason: fmt.Sprintf("PUB on tag number %d, which was not announced", number)}
	}
	sub := r.selected
	key := inboxKey{sub.id, shard}
	in := t.inboxes[key]
	if in == nil {
		credit := t.credits[sub.id]
		if credit == nil {
			credit = &creditReturn{conn: r.conn, subscription: sub.id, tag: number, window: sub.pool.window}
			t.credits[sub.id] = credit
		}
		in = &inbox{pool: sub.pool, tag: t.name, shard: shard, credit: credit}
		t.inboxes[key] = in
	}
	return in, nil
}
