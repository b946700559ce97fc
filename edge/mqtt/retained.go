package mqtt

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/ferry/internal/mqttmessage"
	wire "example.com/ferry/protocol/mqtt"
)

// retainedMessage is the retained message of a topic. It does not change once it is in the store.
type retainedMessage struct {
	tag        string
	client     string // sessionKey of the client that has published it
	identity   string // of client
	qos        byte
	time       int64  // when it was published, in Unix nanoseconds
	expires    int64  // as expiryOf returns it
	number     uint64 // of the change that has put it into the store
	properties wire.Properties
	payload    []byte
}

// usage returns what the message counts. nil, or a message that removes another one, counts nothing.
func (m *retainedMessage) usage() usage {
	if m == nil || len(m.payload) == 0 {
		return usage{}
	}
	return usage{1, len(m.tag) + len(m.client) + len(m.properties) + len(m.payload) + retainedOverhead}
}

// retainedOverhead is what a retained message takes beside its content, in bytes.
const retainedOverhead = 128

func (m *retainedMessage) clientID() string {
	_, id, _ := strings.Cut(m.client, "\x00")
	return id
}

func (m *retainedMessage) expired() bool {
	return m.expires != 0 && m.expires <= time.Now().UnixNano()
}

// retainedStore has the retained messages, in the order of their topics. All methods may overlap.
type retainedStore struct {
	limit usage // of all messages

	mu      sync.Mutex
	list    []*retainedMessage // sorted by compareTopics
	changes uint64             // the number of the last message that was put in
	all     usage
	owned   map[string]usage // by identity
	dirty   bool             // it has changed since all was last called by save
}

// compareTopics orders topics so that one stands right before all topics below it: the separator is less than all other bytes.
func compareTopics(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		switch x, y := a[i], b[i]; {
		case x == y:
		case x == '/':
			return -1
		case y == '/':
			return 1
		default:
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// find returns where the message of a topic is in the list, or would be. The caller holds the lock.
func (r *retainedStore) find(tag string) (at int, found bool) {
	return slices.BinarySearchFunc(r.list, tag, func(m *retainedMessage, tag string) int { return compareTopics(m.tag, tag) })
}

// of returns the message of a topic, or nil. The caller holds the lock.
func (r *retainedStore) of(tag string) *retainedMessage {
	if at, found := r.find(tag); found {
		return r.list[at]
	}
	return nil
}

// put makes m the message of its topic. The caller holds the lock.
func (r *retainedStore) put(m *retainedMessage) {
	if m.number == 0 { // otherwise it was there before
		r.changes++
		m.number = r.changes
	}
	if at, found := r.find(m.tag); found {
		r.list[at] = m
	} else {
		r.list = slices.Insert(r.list, at, m)
	}
}

// remove removes the message of a topic, if there is one. The caller holds the lock.
func (r *retainedStore) remove(tag string) {
	if at, found := r.find(tag); found {
		r.list = slices.Delete(r.list, at, at+1)
	}
}

// set makes m the retained message of its topic; without a payload, the topic has none. It returns the former one. ok is false if there
// are too many, or each is allowed less than its identity would have.
func (r *retainedStore) set(m *retainedMessage, each share) (before *retainedMessage, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.of(m.tag)
	return before, r.replace(before, m, each)
}

// restore puts before in the place of m, if m is there: m was refused. If there is no room any more for before, the topic has none.
func (r *retainedStore) restore(m, before *retainedMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.of(m.tag)
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
		r.put(m)
	} else if before != nil {
		r.remove(m.tag)
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

// removeExpired removes messages whose expiry interval is over.
func (r *retainedStore) removeExpired() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range slices.Clone(r.list) {
		if m.expired() {
			r.replace(m, &retainedMessage{tag: m.tag}, 100)
		}
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
	return slices.Clone(r.list), true
}

func (r *retainedStore) size() (count, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.count, r.all.bytes
}

// newRetained returns a copy of a message that a client publishes as the retained one of its topic.
func newRetained(client, tag string, e *mqttmessage.Entry, payload []byte) *retainedMessage {
	now := time.Now().UnixNano()
	identity, _, _ := strings.Cut(client, "\x00")
	return &retainedMessage{
		tag: tag, client: client, identity: identity, qos: e.QoS, time: now, expires: expiryOf(e.Properties, now),
		properties: append(wire.Properties(nil), e.Properties...), payload: append([]byte(nil), payload...),
	}
}
