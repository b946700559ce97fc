package hop_test

import (
	"testing"
	"time"

	"example.com/ferry/protocol/native"
	"example.com/ferry/stream/hop"
)

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(late) {
			t.Fatalf("after 10 s still not: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestSubscribeWhileTheConnectionEnds: a SUB that arrives after the broker has given the connection up and before the
// socket is closed leaves nothing behind, so no publisher waits for a subscriber that is gone.
func TestSubscribeWhileTheConnectionEnds(t *testing.T) {
	h, addr := serve(t, hop.Config{WriteTimeout: 100 * time.Millisecond, Queue: 1, Window: 10 << 10})
	slow := greet(t, addr)
	slow.subscribe(native.SubFrame{ID: 1, Window: 1 << 30, Policy: native.DropOldest, Filter: "flood"})
	src := greet(t, addr)
	flood := src.tag("flood")
	stop := make(chan struct{})
	flooded := make(chan struct{})
	go func() { // until the socket of the subscriber, which never reads, is full
		defer close(flooded)
		for {
			select {
			case <-stop:
				return
			default:
				if f := src.read(); f != nil && f.Kind() == native.Credit {
					src.write(src.pub(flood, make([]byte, 9<<10)))
				}
			}
		}
	}()
	src.write(src.pub(flood, make([]byte, 9<<10)))
	eventually(t, "the broker gives the connection up", func() bool { return h.Snapshot().Connections == 1 })
	slow.write(native.AppendSub(nil, native.SubFrame{ID: 2, Window: 1, Filter: "#"}))
	for slow.read() != nil { // to the end
		continue
	}
	close(stop)
	src.write(src.pub(flood, make([]byte, 9<<10))) // ends the reader above
	<-flooded
	if subs := h.Snapshot().Subscriptions; len(subs) != 0 {
		t.Errorf("%d subscriptions are left: %+v", len(subs), subs)
	}
}
