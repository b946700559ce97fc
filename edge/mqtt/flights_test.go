package mqtt

import (
	"math/rand/v2"
	"testing"
)

// TestFlights: packet identifiers of flights on their way differ, are found, and wrap around at 65535.
func TestFlights(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var f flights
	f.first = 65000
	live := map[uint16]uint64{}
	var order []uint16
	for n := uint64(1); n < 3000; n++ {
		if !f.full(50) {
			x, id := f.add()
			if id == 0 || live[id] != 0 {
				t.Fatalf("packet identifier %d is used already", id)
			}
			x.state, x.sequence, x.size = awaitsPuback, n, 10
			f.bytes += 10
			live[id] = n
			order = append(order, id)
		}
		if f.live != len(live) || f.bytes != 10*len(live) {
			t.Fatalf("%d flights with %d bytes, want %d", f.live, f.bytes, len(live))
		}
		if r.IntN(3) == 0 && !f.full(50) {
			continue
		}
		i := r.IntN(min(len(order), 60))
		id := order[i]
		x := f.find(id)
		if x == nil || x.sequence != live[id] {
			t.Fatalf("flight %d: got %+v, want sequence %d", id, x, live[id])
		}
		if again, same := f.ofRecord(nil, live[id]); again != x || same != id {
			t.Fatalf("the record %d has packet identifier %d, want %d", live[id], same, id)
		}
		f.settle(x)
		delete(live, id)
		order = append(order[:i], order[i+1:]...)
		if f.find(id) != nil {
			t.Fatalf("flight %d is settled and found", id)
		}
	}
	f.drop(func(*flight) bool { return true })
	if f.live != 0 || f.span != 0 || f.bytes != 0 {
		t.Errorf("after drop: %+v", f)
	}
}
