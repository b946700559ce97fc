package broker_test

import (
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// TestBlockedQueueStaysBounded: publishers connect, spend their window and leave, again and again. A queue that blocks
// does not grow beyond its bound.
func TestBlockedQueueStaysBounded(t *testing.T) {
	const window, queue, rounds = 4 << 10, 16 << 10, 20
	b, addr := serve(t, broker.Config{Window: window, Queue: queue})
	slow := greet(t, addr)
	slow.subscribe(native.SubFrame{ID: 1, Window: 1, Filter: "a"})
	var waiting *peer
	granted, number := 0, uint32(0)
	for range rounds {
		p := greet(t, addr)
		p.write(native.AppendTag(nil, native.TagFrame{Ref: 7, Name: "a"}))
		p.write(native.AppendTag(nil, native.TagFrame{Ref: 8, Name: "a"}))
		results := p.settled()
		if len(results) == 0 {
			waiting = p
			continue
		}
		granted, number = granted+1, results[0].Value
		for range window >> 10 {
			p.write(p.pub(number, make([]byte, 1<<10-native.PubHeaderSize)))
		}
		p.settled()
		_ = p.conn.Close()
		eventually(t, "the publisher has left", func() bool { return b.Snapshot().Connections == 1 })
	}
	if queued := b.Snapshot().Subscriptions[0].QueuedBytes; queued > queue+window {
		t.Errorf("%d bytes are queued after %d publishers, want at most %d", queued, granted, queue+window)
	}
	if waiting == nil {
		t.Fatal("all publishers were granted the tag")
	}

	// The client reads everything. Then the waiting publisher gets one grant for each of its TAGs.
	slow.write(native.AppendCredit(nil, native.CreditFrame{Sub: 1, Tag: number, Bytes: 1 << 20}))
	for _, ref := range []uint32{7, 8} {
		if v := waiting.result(); v.Ref != ref || v.Code != native.CodeOK {
			t.Errorf("got %+v, want TAG %d granted", v, ref)
		}
	}
}
