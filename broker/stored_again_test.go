package broker_test

import (
	"context"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/engine"
	"example.com/ferry/protocol/native"
)

// slowStarts is a Stream that stores the start of the durable "slow" only when it is told to.
type slowStarts struct {
	engine.Stream
	begun, release chan struct{}
}

func (s *slowStarts) CreateCursor(ctx context.Context, c engine.CursorConfig) error {
	if c.Name == "slow" {
		close(s.begun)
		<-s.release
	}
	return s.Stream.CreateCursor(ctx, c)
}

// TestSubscribeAgainBeforeTheResult: a client ends a subscription before its RESULT has come, and uses its id again. The RESULT that it gets is
// that of the later SUB.
func TestSubscribeAgainBeforeTheResult(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	slow := &slowStarts{Stream: s.Stream, begun: make(chan struct{}), release: make(chan struct{})}
	s.Stream = slow
	_, addr := serve(t, broker.Config{Stored: []broker.Stored{s}})
	p := greet2(t, addr)
	p.write(native.AppendSub(nil, native.SubFrame{ID: 1, Filter: "orders/#", Durable: "slow", Window: 1 << 20}))
	<-slow.begun
	p.write(native.AppendUnsub(nil, 1))
	p.subscribeStored(native.SubFrame{ID: 1, Filter: "orders/#", Durable: "work"})
	close(slow.release)
	for range 20 {
		p.silent()
		time.Sleep(2 * time.Millisecond)
	}
	p.publish(p.tag("orders/1"), "a")
	p.expectMessages("a")
}
