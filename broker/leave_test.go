package broker_test

import (
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	late := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(late) {
			t.Fatalf("after a minute still not: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestSubscribeWhileTheConnectionEnds: the broker has given up a connection but not yet closed its socket. A SUB that
// arrives then adds no subscription, so no publisher waits for a client that has gone.
func TestSubscribeWhileTheConnectionEnds(t *testing.T) {
	h, addr := serve(t, broker.Config{WriteTimeout: 100 * time.Millisecond, Queue: 1, Window: 10 << 10})
	slow := greet(t, addr)
	slow.subscribe(native.SubFrame{ID: 1, Window: 1 << 30, Policy: native.DropOldest, Filter: "flood"})
	src := greet(t, addr)
	flood := src.tag("flood")
	for credit := 10 << 10; h.Snapshot().Connections == 2; { // until the broker gives up the subscriber, which never reads
		for ; credit > 0; credit -= 9 << 10 {
			src.write(src.pub(flood, make([]byte, 9<<10-native.PubHeaderSize)))
		}
		f := src.read()
		if f == nil {
			t.Fatal("the publisher's connection ended")
		}
		if v, err := native.ParseCredit(f); f.Kind() == native.Credit && err == nil {
			credit += int(v.Bytes)
		}
	}
	slow.write(native.AppendSub(nil, native.SubFrame{ID: 2, Window: 1, Filter: "#"}))
	for slow.read() != nil { // until the connection ends
		continue
	}
	if subs := h.Snapshot().Subscriptions; len(subs) != 0 {
		t.Errorf("%d subscriptions are left: %+v", len(subs), subs)
	}
}
