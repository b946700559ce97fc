package mqtt

import (
	"cmp"
	"strings"

	"example.com/ferry/internal/topic"
	wire "example.com/ferry/protocol/mqtt"
)

// retainedWalk sends the retained messages to a new subscription, a few in each turn of the loop. It keeps a position and no messages, so
// it takes the same memory and the loop the same time in a turn, however many messages match.
type retainedWalk struct {
	sub   *sub
	after string // the topic that it has looked at last; "" at the beginning
	until uint64 // of retainedStore.changes when it began: what came later is delivered as a live message
}

// maxLooks bounds the retained messages that a session compares with its filters in one turn of the loop.
const maxLooks = 256

// walkRetained begins the walk of a subscription, again if there is one. The caller holds the lock of the session.
func (s *session) walkRetained(x *sub) {
	s.needExchange()
	if x.walk == nil {
		x.walk = &retainedWalk{sub: x}
		s.retained = append(s.retained, x.walk)
	}
	x.walk.after, x.walk.until = "", s.server.retained.change()
}

// change returns the number of the last change.
func (r *retainedStore) change() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changes
}

// next returns the next message of a walk, and how many it has looked at, most at most. Without a message, ended says that there is none any more.
func (r *retainedStore) next(w *retainedWalk, most int) (m *retainedMessage, looks int, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	filter := w.sub.tags
	prefix, exact := literalPrefix(filter)
	at, found := r.find(cmp.Or(w.after, prefix))
	if found && w.after != "" {
		at++
	}
	for ; at < len(r.list) && looks < most; at++ {
		m := r.list[at]
		if !below(prefix, m.tag) || exact && m.tag != prefix {
			return nil, looks, true
		}
		looks++
		w.after = m.tag
		if m.number <= w.until && !m.expired() && !hidden(filter, m.tag) && topic.Match(filter, m.tag) {
			return m, looks, false
		}
	}
	return nil, looks, at == len(r.list)
}

// literalPrefix returns the levels of a filter before the first wildcard. exact says that there is no wildcard.
func literalPrefix(filter string) (prefix string, exact bool) {
	at := strings.IndexAny(filter, "+#")
	if at < 0 {
		return filter, true
	}
	return strings.TrimSuffix(filter[:at], "/"), false
}

// below reports whether tag is prefix or below it. An empty prefix stands for all tags.
func below(prefix, tag string) bool {
	rest, ok := strings.CutPrefix(tag, prefix)
	return ok && (prefix == "" || rest == "" || rest[0] == '/')
}

// sendRetained goes on with the walks as far as there is room, for at most maxLooks messages. It reports whether it could go on at once.
// The caller holds the lock.
func (s *session) sendRetained() (more bool) {
	looks := 0
	for len(s.retained) > 0 && looks < maxLooks {
		w := s.retained[0]
		before := w.after
		m, n, ended := s.server.retained.next(w, maxLooks-looks)
		looks += n
		switch {
		case m != nil && !s.takeRetained(w.sub, m):
			w.after = before // it has to wait, and is found again
			return false
		case ended:
			w.sub.walk = nil
			s.retained[0] = nil
			if s.retained = s.retained[1:]; len(s.retained) == 0 {
				s.retained = nil
			}
		}
	}
	return len(s.retained) > 0
}

// takeRetained sends a retained message. It returns false if there is no room. The caller holds the lock.
func (s *session) takeRetained(x *sub, m *retainedMessage) bool {
	properties, expired := remaining(m.properties, m.expires)
	if expired || x.noLocal && m.client == s.key {
		return true
	}
	p := wire.PublishPacket{QoS: min(m.qos, x.qos), Retain: true, Properties: properties, Payload: m.payload}
	return s.send(x, m.tag, &p, 0, m.expires)
}
