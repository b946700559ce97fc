package stream

import (
	"fmt"
	"hash/maphash"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// shardSeed makes the shards of keys hard to guess.
var shardSeed = maphash.MakeSeed()

// storedPubs adds the first PUBs of batch whose keys share an inbox to that inbox. It returns their length. A malformed PUB is an
// error of the call that begins with it, so that those before it are handled.
func (r *receiver) storedPubs(batch []byte, shared *bufpool.Buf) (int, error) {
	member := r.selected.memberOn(r.conn)
	if member == nil {
		return native.Size(batch), nil
	}
	n, end := 0, 0
	var shard uint32
	for end < len(batch) {
		f := native.Frame(batch[end : end+native.Size(batch[end:])])
		if f.Kind() != native.Pub {
			break
		}
		s, err := parseStored(f)
		if err != nil && n == 0 {
			return 0, err
		}
		if err != nil {
			break
		}
		at := shardOf(s, uint32(r.selected.pool.concurrency))
		if n > 0 && at != shard {
			break
		}
		shard = at
		member.subscription.next.Store(s.Sequence + 1)
		end += len(f)
		n++
	}
	member.received(n)
	r.selected.inbox(shard).pushStored(member, batch[:end], shared)
	return end, nil
}

func parseStored(f native.Frame) (native.StoredPub, error) {
	if f.Tag() != native.ByName {
		return native.StoredPub{}, &native.Error{Code: native.CodeProtocol, Reason: fmt.Sprintf("PUB on tag number %d for a stored subscription", f.Tag())}
	}
	return native.ParseStored(f)
}

// shardOf returns the inbox of a message. Messages with one key share it.
func shardOf(s native.StoredPub, shards uint32) uint32 {
	if shards == 1 {
		return 0
	}
	key := s.Key
	if len(key) == 0 {
		key = s.Tag
	}
	return uint32(maphash.Bytes(shardSeed, key) % uint64(shards))
}

// inbox returns the inbox of a stored subscription for a shard.
func (s *subscription) inbox(shard uint32) *inbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inboxes == nil {
		s.inboxes = make([]*inbox, s.pool.concurrency)
	}
	if s.inboxes[shard] == nil {
		s.inboxes[shard] = &inbox{pool: s.pool, shard: shard}
	}
	return s.inboxes[shard]
}
