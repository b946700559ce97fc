package broker_test

import (
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// TestStreamIsRemovedAfterItsTagHasMoved: messages wait for a stream whose disk hangs. Its tag moves to another stream, and the stream is left out. What waits is
// settled, so the publisher's PING has its response.
func TestStreamIsRemovedAfterItsTagHasMoved(t *testing.T) {
	a := openStream(t, newEngine(t), "a", "orders/#")
	slow := &storage{Stream: a.Stream, closed: true}
	a.Stream = slow
	b, addr := serve(t, broker.Config{Stored: []broker.Stored{a}})
	src := greet2(t, addr)
	tag := src.tag("orders/1")
	src.write(src.pub(tag, []byte("one")))
	eventually(t, "the first message waits", func() bool { return b.Snapshot().Streams[0].Pending.Messages > 0 })
	other := openStream(t, newEngine(t), "b", "orders/1")
	prepare(t, b, other, a)
	src.write(src.pub(tag, []byte("two")))
	prepare(t, b, other)
	src.write(native.AppendPing(nil, false, 7))
	noticed := false
	for {
		f := src.read()
		if f == nil {
			t.Fatal("the connection has ended")
		}
		noticed = noticed || f.Kind() == native.Notice
		if f.Kind() == native.Ping {
			break
		}
	}
	if !noticed {
		t.Error("no NOTICE of the message that is not stored")
	}
	slow.open()
}
