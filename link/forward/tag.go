package forward

import (
	"slices"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// Tag is one tag of a Link. The lock of the outbox guards the fields after name.
type Tag struct {
	link *Link
	name string

	conn    *conn // on which state holds; on another connection the state is idle
	state   tagState
	number  uint32
	credit  int
	out     *outStream
	used    uint64    // Link.uses when the tag was used last
	retryAt time.Time // of a refused tag
	refused error
}

// tagState is what the other node has said about a tag.
type tagState uint8

const (
	idle      tagState = iota
	requested          // TAG is sent
	granted
	refused // messages on the tag are dropped, until retryAt
	delayed // the other node has no room for the tag: messages wait until retryAt
)

// refusedFor is the time after which a refused tag is requested again.
const refusedFor = 5 * time.Second

// delayedFor is the time after which a tag for which the other node had no room is requested again.
const delayedFor = 50 * time.Millisecond

// tagOf returns the tag with a name on c, which may be nil. The caller holds the lock.
func (l *Link) tagOf(c *conn, name string) *Tag {
	if c != nil && c.tags[name] != nil {
		return c.tags[name]
	}
	return &Tag{link: l, name: name}
}

// Forward takes a run of n frames. See broker.ForwardedTag.
func (t *Tag) Forward(frames []byte, n int, path *native.Path, from broker.Origin, u *peer.Unflushed) (position uint64, full bool) {
	l := t.link
	l.Box.Lock()
	if path != nil && l.pointless(*path, n) {
		frames, n = nil, 0
	}
	return l.Box.Push(t.name, path, from, frames, n, u)
}

// pointless reports whether the other node would drop messages that have come by a path, and counts n of them. The caller holds the
// lock.
func (l *Link) pointless(path native.Path, n int) bool {
	switch {
	case l.node != "" && path.Contains(l.node):
		l.Box.Return(n)
		return true
	case len(path) >= native.MaxHops-1:
		l.Box.Drop(dropHops, n)
		return true
	}
	return false
}

// ready returns whether t can be sent over c. Otherwise it has requested the tag, if that is due. drop is set if messages on the tag
// are to be dropped. The caller holds the lock.
func (c *conn) ready(t *Tag) (ok, drop bool) {
	if t.conn == c {
		switch t.state {
		case granted:
			return t.credit > 0, false
		case refused:
			if time.Now().Before(t.retryAt) {
				return false, true
			}
		case delayed:
			if time.Now().Before(t.retryAt) {
				return false, false
			}
		}
	}
	c.request(t)
	return false, false
}

// request requests a tag, unless it has a state. The caller holds the lock.
func (c *conn) request(t *Tag) {
	l := c.link
	if t.conn == c && (t.state == requested || t.state == granted || time.Now().Before(t.retryAt)) {
		return
	}
	if t.conn != c || t.state == idle {
		if c.peer.Version() >= native.ForwardVersion && len(c.tags) >= l.cfg.MaxTags && !c.forget() {
			return // a RESULT frees a place
		}
		c.tags[t.name] = t
	}
	l.uses++
	t.conn, t.state, t.used = c, requested, l.uses
	c.lastRef++
	c.requests[c.lastRef] = t
	ref := c.lastRef
	c.peer.Tell(func(b []byte) []byte { return native.AppendTag(b, native.TagFrame{Ref: ref, Name: t.name}) })
}

// forget gives back an eighth of the tags, those that were unused for longest. It returns false if all tags wait for their RESULT.
func (c *conn) forget() bool {
	l := c.link
	var list []*Tag
	for _, t := range c.tags {
		if t.state != requested && t.state != delayed {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *Tag) int {
		switch {
		case a.used < b.used:
			return -1
		case a.used > b.used:
			return 1
		}
		return 0
	})
	list = list[:min(len(list), 1+l.cfg.MaxTags/8)]
	for _, t := range list {
		if t.state == granted {
			c.untag(t)
			delete(c.numbers, t.number)
		}
		t.state, t.out = idle, nil
		delete(c.tags, t.name)
	}
	return len(c.tags) < l.cfg.MaxTags
}

// untag gives back the grant of a tag.
func (c *conn) untag(t *Tag) {
	w := t.out.writer
	w.Lock()
	if !w.Closed() {
		w.SetTail(native.AppendUntag(w.Tail(native.HeaderSize+4), t.number))
	}
	w.Unlock()
}
