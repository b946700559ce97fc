package stream

import "example.com/ferry"

// refusedKeys are the keys of an inbox of which a message has failed. Later messages with such a key may be on their way already.
// They are refused until the node delivers a message again, so that the key keeps its order (docs/native.md, Order).
type refusedKeys struct {
	within uint64 // the most bytes that the node sends before it has read a NAK
	seen   uint64 // bytes of messages so far
	keys   map[string]refusedKey
	limit  int // number of keys at which expired ones are looked for
}

type refusedKey struct {
	highest uint64 // highest sequence number that has failed or was refused
	until   uint64 // value of seen after which nothing that was on its way can arrive
}

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
	r.keys[key] = refusedKey{m.Sequence, r.seen + r.within}
	return true
}

// add notes that m has failed.
func (r *refusedKeys) add(m *ferry.Message) {
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
	key := orderKey(m)
	r.keys[key] = refusedKey{max(m.Sequence, r.keys[key].highest), r.seen + r.within}
}
