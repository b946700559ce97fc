package mqtt

import (
	"strings"
	"sync"
	"time"

	"example.com/ferry/internal/mqttmessage"
	wire "example.com/ferry/protocol/mqtt"
)

// retainedMessage is the retained message of a topic. It does not change.
type retainedMessage struct {
	tag        string
	identity   string // that has published it
	qos        byte
	time       int64 // when it was published, in Unix nanoseconds
	expires    int64 // as expiryOf returns it
	publisher  uint64
	properties wire.Properties
	payload    []byte
}

// usage returns what the message counts. nil, or a message that removes another one, counts nothing.
func (m *retainedMessage) usage() usage {
	if m == nil || len(m.payload) == 0 {
		return usage{}
	}
	return usage{1, len(m.tag) + len(m.properties) + len(m.payload) + retainedOverhead}
}

// retainedOverhead is what a retained message takes beside its content, in bytes.
const retainedOverhead = 128

func (m *retainedMessage) expired() bool {
	return m.expires != 0 && m.expires <= time.Now().UnixNano()
}

// retainedStore has the retained messages, by the levels of their topics. All methods may overlap.
type retainedStore struct {
	limit usage // of all messages

	mu    sync.Mutex
	root  retainedLevel
	all   usage
	owned map[string]usage // by identity
	dirty bool             // it has changed since all was last called by save
}

// retainedLevel is a level of topics.
type retainedLevel struct {
	message *retainedMessage // of the topic that ends here
	below   map[string]*retainedLevel
}

// set makes m the retained message of its topic; without a payload, the topic has none. It returns the former one. ok is false if there
// are too many, or each is allowed less than its identity would have.
func (r *retainedStore) set(m *retainedMessage, each share) (before *retainedMessage, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.root.find(m.tag)
	return before, r.replace(before, m, each)
}

// restore puts before in the place of m, if m is there: m was refused. If there is no room any more for before, the topic has none.
func (r *retainedStore) restore(m, before *retainedMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.root.find(m.tag)
	if len(m.payload) == 0 && now != nil || len(m.payload) > 0 && now != m {
		return
	}
	if before == nil || !r.replace(now, before, 100) {
		r.replace(now, &retainedMessage{tag: m.tag}, 100)
	}
}

// replace puts m in the place of before. The caller holds the lock.
func (r *retainedStore) replace(before, m *retainedMessage, each share) (ok bool) {
	added, removed := m.usage(), before.usage()
	all := r.all.with(added, removed)
	if added.count > 0 {
		grown := added // of what the identity has
		if before != nil && before.identity == m.identity {
			grown = added.with(usage{}, removed)
		}
		if all.above(r.limit) || !r.allows(each, r.owned[m.identity].with(grown, usage{}), all, grown) {
			return false
		}
		r.root.put(m)
	} else if before != nil {
		r.root.remove(m.tag)
	}
	if added == removed && added.count == 0 {
		return true // there was none
	}
	r.all, r.dirty = all, true
	if before != nil {
		r.count(before.identity, usage{}, removed)
	}
	r.count(m.identity, added, usage{})
	return true
}

// allows reports whether an identity may have own, which has grown by grown. The first message of an identity needs no share, and a
// message that takes the place of one of the same size neither. The caller holds the lock.
func (r *retainedStore) allows(each share, own, all, grown usage) bool {
	return own.count == 1 ||
		(grown.count <= 0 || each.allows(own.count, all.count, r.limit.count)) &&
			(grown.bytes <= 0 || each.allows(own.bytes, all.bytes, r.limit.bytes))
}

// count counts what an identity has more and less. The caller holds the lock.
func (r *retainedStore) count(identity string, added, removed usage) {
	if own := r.owned[identity].with(added, removed); own.count > 0 {
		r.owned[identity] = own
	} else {
		delete(r.owned, identity)
	}
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
		r.replace(m, &retainedMessage{tag: m.tag}, 100)
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
	return r.all.count, r.all.bytes
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
	properties, expired := remaining(m.properties, m.expires)
	if expired || x.noLocal && m.publisher == s.number {
		return true
	}
	p := wire.PublishPacket{QoS: min(m.qos, x.qos), Retain: true, Properties: properties, Payload: m.payload}
	return s.send(x, m.tag, &p, 0, m.expires)
}

// newRetained returns a copy of a message that an identity publishes as the retained one of its topic.
func newRetained(identity, tag string, e *mqttmessage.Entry, payload []byte) *retainedMessage {
	now := time.Now().UnixNano()
	return &retainedMessage{
		tag: tag, identity: identity, qos: e.QoS, time: now, expires: expiryOf(e.Properties, now), publisher: e.Publisher,
		properties: append(wire.Properties(nil), e.Properties...), payload: append([]byte(nil), payload...),
	}
}
