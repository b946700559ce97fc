package stream

import (
	"context"
	"testing"

	"example.com/ferry"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport/memory"
)

// TestSendAllocatesNothing covers tags that are not stored, and stored ones whose CREDIT returns.
func TestSendAllocatesNothing(t *testing.T) {
	if !bufpool.Reuse {
		t.Log("buffers are not used again in this build")
		return
	}
	network := memory.New(nil)
	l, err := network.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := network.Dial(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for _, stored := range []bool{false, true} {
		cn := &conn{peer: peer.New(raw, peer.Config{Remote: "node"}), window: 1 << 20, maxFrame: 1 << 20}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &Source{tag: "a", changed: make(chan struct{}), client: &Client{ctx: ctx}}
		s.resume(cn, 7, stored)
		m := ferry.Message{Payload: make([]byte, 100), Time: 1}
		w := cn.peer.Control()
		if n := testing.AllocsPerRun(50, func() {
			if err := s.Send(ctx, m); err != nil {
				t.Fatal(err)
			}
			w.Lock()
			w.Discard()
			w.Unlock()
			s.addCredit(cn, native.PubHeaderSize+100)
		}); n != 0 {
			t.Errorf("stored %v: %v allocations", stored, n)
		}
		b := s.Batch()
		if n := testing.AllocsPerRun(50, func() {
			for range 10 {
				if err := b.Add(ctx, m); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Send(ctx); err != nil {
				t.Fatal(err)
			}
			w.Lock()
			w.Discard()
			w.Unlock()
			s.addCredit(cn, 10*(native.PubHeaderSize+100))
		}); n != 0 {
			t.Errorf("Batch, stored %v: %v allocations", stored, n)
		}
		if _, messages, _, _ := s.unstored.state(); messages != 0 {
			t.Errorf("stored %v: %d messages are kept", stored, messages)
		}
	}
}

// TestHandlingAllocatesNothing covers a handler of a durable that sends nothing. What is acknowledged once a turn is not counted.
func TestHandlingAllocatesNothing(t *testing.T) {
	m := &membership{}
	h := (*handling)(nil).begin(nil, m, nil, 0)
	if n := testing.AllocsPerRun(200, func() {
		h = h.begin(nil, m, nil, 0)
		h.end(nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestRefusedKeysAreForgotten: a key is forgotten when nothing that was on its way before the NAK can arrive any more.
func TestRefusedKeysAreForgotten(t *testing.T) {
	r := refusedKeys{within: 1000}
	m := func(key string, sequence uint64) *ferry.Message {
		return &ferry.Message{Key: []byte(key), Sequence: sequence}
	}
	r.add("k", 1)
	if !r.refuses(m("k", 1_000), 5000) || !r.refuses(m("k", 1_001), 5000) {
		t.Error("a key was forgotten before its NAK was sent")
	}
	r.sent("k")
	if !r.refuses(m("k", 1_002), 999) {
		t.Error("a message that was on its way was not refused")
	}
	if r.refuses(m("other", 3), 1000) || !r.refuses(m("k", 1_004), 0) {
		t.Error("the window of the key does not begin again with each message refused")
	}
	if r.refuses(m("other", 5), 1001) || r.refuses(m("k", 1_006), 0) {
		t.Error("a message that was sent after the NAK was refused")
	}
	for i := range uint64(10 * minRefusedKeys) {
		key := string(rune('a' + i))
		r.add(key, i)
		r.sent(key)
		r.refuses(m("other", i), 100)
	}
	if n := len(r.keys); n > 2*minRefusedKeys {
		t.Errorf("%d keys are kept", n)
	}
}
