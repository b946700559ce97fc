package stream

import (
	"math"
	"sync"

	"example.com/ferry"
)

// refusedKeys are the keys of an inbox of which a message has failed. Later messages with such a key may be on their way already.
// They are refused until the node delivers a message again, so that the key keeps its order (docs/native.md, Order). The methods may
// overlap: a message whose output is dropped fails after its handler has returned.
type refusedKeys struct {
	within uint64 // the most bytes that the node sends before it has read a NAK

	mu    sync.Mutex
	seen  uint64 // bytes of messages so far
	keys  map[string]refusedKey
	limit int // number of keys at which expired ones are looked for
}

type refusedKey struct {
	highest uint64 // highest sequence number that has failed or was refused
	until   uint64 // value of seen after which nothing that was on its way can arrive; unsent if the NAK was not sent yet
}

// unsent is the until of a key whose NAK was not sent yet.
const unsent = math.MaxUint64

// minRefusedKeys is the number of keys below which expired ones are kept.
const minRefusedKeys = 64

// orderKey returns the key within which m keeps its order.
func orderKey(m *ferry.Message) string {
	if len(m.Key) > 0 {
		return string(m.Key)
	}
	return m.Tag
}

// refuses reports whether m must wait for an earlier message with its key. size is the length of its frame.
func (r *refusedKeys) refuses(m *ferry.Message, size int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen += uint64(size)
	if len(r.keys) == 0 {
		return false
	}
	key := orderKey(m)
	k, ok := r.keys[key]
	switch {
	case !ok:
		return false
	case m.Sequence <= k.highest || r.seen > k.until:
		delete(r.keys, key)
		return false
	}
	k.highest = m.Sequence
	if k.until != unsent {
		k.until = r.seen + r.within
	}
	r.keys[key] = k
	return true
}

// add notes that a message with a key has failed. The key is refused without end until sent is called.
func (r *refusedKeys) add(key string, sequence uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil {
		r.keys, r.limit = map[string]refusedKey{}, minRefusedKeys
	}
	if len(r.keys) >= r.limit {
		for key, k := range r.keys {
			if r.seen > k.until {
				delete(r.keys, key)
			}
		}
		r.limit = max(minRefusedKeys, 2*len(r.keys))
	}
	r.keys[key] = refusedKey{max(sequence, r.keys[key].highest), unsent}
}

// sent notes that the NAK of a message with the key was sent, or will be sent before the credit of the messages seen since then.
func (r *refusedKeys) sent(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k, ok := r.keys[key]; ok {
		k.until = r.seen + r.within
		r.keys[key] = k
	}
}
