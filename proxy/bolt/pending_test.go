package bolt

import (
	"testing"

	"example.com/ferry/proxy/proxytest"
)

// pendingRequests behaves like a map in any order of add and remove, even when ids overflow.
func TestPending(t *testing.T) {
	t.Parallel()
	random := proxytest.Rand(t)
	p, want := pendingRequests{last: 1<<32 - 500}, map[uint32]*request{}
	var ids []uint32
	for range 20_000 {
		if len(ids) > 0 && random.IntN(100) < 49 {
			i := random.IntN(len(ids))
			id := ids[i]
			ids[i] = ids[len(ids)-1]
			ids = ids[:len(ids)-1]
			p.remove(want[id])
			delete(want, id)
			if p.find(id) != nil {
				t.Fatalf("%d is found after it was removed", id)
			}
			continue
		}
		r := &request{}
		id := p.add(r)
		if want[id] != nil {
			t.Fatalf("id %d is given twice", id)
		}
		want[id] = r
		ids = append(ids, id)
	}
	if p.count != len(want) {
		t.Errorf("%d pending, want %d", p.count, len(want))
	}
	for id, r := range want {
		if p.find(id) != r || p.find(id+uint32(len(p.slots))) != nil {
			t.Fatalf("id %d is not found, or another is", id)
		}
	}
}
