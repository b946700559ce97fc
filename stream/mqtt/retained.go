package mqtt

import (
	"strings"
	"sync"
	"time"

	wire "example.com/ferry/protocol/mqtt"
	"example.com/ferry/stream/mqtt/internal/message"
)

// retainedMessage is the retained message of a topic. It does not change.
type retainedMessage struct {
	tag        string
	qos        byte
	time       int64 // when it was published, in Unix nanoseconds
	publisher  uint64
	properties wire.Properties
	payload    []byte
}

func (m *retainedMessage) size() int {
	return len(m.tag) + len(m.properties) + len(m.payload) + retainedOverhead
}

// retainedOverhead is what a retained message takes beside its content, in bytes.
const retainedOverhead = 128

func (m *retainedMessage) expired() bool {
	_, expired := remaining(m.properties, m.time)
	return expired
}

// retainedStore has the retained messages, by the levels of their topics. All methods may overlap.
type retainedStore struct {
	maxCount, maxBytes int

	mu    sync.Mutex
	root  retainedLevel
	count int
	bytes int
	dirty bool // it has changed since all was last called by save
}

// retainedLevel is a level of topics.
type retainedLevel struct {
	message *retainedMessage // of the topic that ends here
	below   map[string]*retainedLevel
}

// set makes m the retained message of its topic; without a payload, the topic has none. It returns the former one. ok is false if there
// are too many.
func (r *retainedStore) set(m *retainedMessage) (before *retainedMessage, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.root.find(m.tag)
	return before, r.replace(before, m)
}

// restore puts before in the place of m, if m is there: m was refused.
func (r *retainedStore) restore(m, before *retainedMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.root.find(m.tag)
	if len(m.payload) == 0 && now != nil || len(m.payload) > 0 && now != m {
		return
	}
	if before == nil {
		before = &retainedMessage{tag: m.tag}
	}
	r.replace(now, before)
}

// replace puts m in the place of before. The caller holds the lock.
func (r *retainedStore) replace(before, m *retainedMessage) (ok bool) {
	count, bytes := r.count, r.bytes
	if before != nil {
		count, bytes = count-1, bytes-before.size()
	}
	if len(m.payload) == 0 {
		if before != nil {
			r.root.remove(m.tag)
			r.count, r.bytes, r.dirty = count, bytes, true
		}
		return true
	}
	if count+1 > r.maxCount || bytes+m.size() > r.maxBytes {
		return false
	}
	r.root.put(m)
	r.count, r.bytes, r.dirty = count+1, bytes+m.size(), true
	return true
}

func (l *retainedLevel) find(tag string) *retainedMessage {
	for more := true; more; {
		var level string
		level, tag, more = strings.Cut(tag, "/")
		if l = l.below[level]; l == nil {
			return nil
		}
	}
	return l.message
}

func (l *retainedLevel) put(m *retainedMessage) {
	for rest, more := m.tag, true; more; {
		var level string
		level, rest, more = strings.Cut(rest, "/")
		next := l.below[level]
		if next == nil {
			next = &retainedLevel{}
			if l.below == nil {
				l.below = map[string]*retainedLevel{}
			}
			l.below[strings.Clone(level)] = next
		}
		l = next
	}
	l.message = m
}

// remove removes the message of tag, and the levels that are empty then. A tag has at most topic.MaxLen levels.
func (l *retainedLevel) remove(tag string) (empty bool) {
	level, rest, more := strings.Cut(tag, "/")
	next := l.below[level]
	switch {
	case next == nil:
	case !more:
		next.message = nil
		if len(next.below) == 0 {
			delete(l.below, level)
		}
	case next.remove(rest):
		delete(l.below, level)
	}
	return len(l.below) == 0 && l.message == nil
}

// matching appends the messages whose topics match filter to list, without those that have expired.
func (r *retainedStore) matching(list []*retainedMessage, filter string) []*retainedMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.root.match(filter, true, func(m *retainedMessage) {
		if !m.expired() {
			list = append(list, m)
		}
	})
	return list
}

func (l *retainedLevel) match(filter string, first bool, found func(*retainedMessage)) {
	level, rest, more := strings.Cut(filter, "/")
	if level == "#" {
		l.all(first, found)
		return
	}
	for name, next := range l.below {
		if level == "+" && first && strings.HasPrefix(name, "$") {
			continue
		}
		if level != "+" {
			if next = l.below[level]; next == nil {
				return
			}
		}
		switch {
		case more:
			next.match(rest, false, found)
		case next.message != nil:
			found(next.message)
		}
		if level != "+" {
			return
		}
	}
}

// all calls found for the message of this level and of all below: "a/#" also matches "a".
func (l *retainedLevel) all(first bool, found func(*retainedMessage)) {
	if l.message != nil {
		found(l.message)
	}
	for name, next := range l.below {
		if !first || !strings.HasPrefix(name, "$") {
			next.all(false, found)
		}
	}
}

// removeExpired removes messages whose expiry interval is over.
func (r *retainedStore) removeExpired() {
	var expired []*retainedMessage
	r.mu.Lock()
	defer r.mu.Unlock()
	visit := func(m *retainedMessage) {
		if m.expired() {
			expired = append(expired, m)
		}
	}
	r.root.all(false, visit)
	for _, m := range expired {
		r.replace(m, &retainedMessage{tag: m.tag})
	}
}

// takeChanged returns all messages if they have changed since the last call.
func (r *retainedStore) takeChanged() (all []*retainedMessage, changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dirty {
		return nil, false
	}
	r.dirty = false
	r.root.all(false, func(m *retainedMessage) { all = append(all, m) })
	return all, true
}

func (r *retainedStore) size() (count, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.bytes
}

// retainedSend is a retained message that a new subscription gets.
type retainedSend struct {
	sub     *sub
	message *retainedMessage
}

// sendRetained appends retained messages as far as there is room. The caller holds the lock.
func (s *session) sendRetained() {
	n := 0
	for n < len(s.retained) && s.takeRetained(&s.retained[n]) {
		n++
	}
	clear(s.retained[:n])
	if s.retained = s.retained[n:]; len(s.retained) == 0 {
		s.retained = nil
	}
}

func (s *session) takeRetained(r *retainedSend) bool {
	x, m := r.sub, r.message
	properties, expired := remaining(m.properties, m.time)
	if expired || x.noLocal && m.publisher == s.number {
		return true
	}
	p := wire.PublishPacket{QoS: min(m.qos, x.qos), Retain: true, Properties: properties, Payload: m.payload}
	return s.send(x, m.tag, &p, 0)
}

// newRetained returns a copy of a message that is published as the retained one of its topic.
func newRetained(tag string, e *message.Entry, payload []byte) *retainedMessage {
	return &retainedMessage{
		tag: tag, qos: e.QoS, time: time.Now().UnixNano(), publisher: e.Publisher,
		properties: append(wire.Properties(nil), e.Properties...), payload: append([]byte(nil), payload...),
	}
}
