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

// TestLocalUnsubscribesBeforeOpened: a client in the process that ends a subscription to a new durable early is told when the durable exists: it
// may want to remove it.
func TestLocalUnsubscribesBeforeOpened(t *testing.T) {
	s := openStream(t, newEngine(t), "orders", "orders/#")
	slow := &slowStarts{Stream: s.Stream, begun: make(chan struct{}), release: make(chan struct{})}
	s.Stream = slow
	b, _ := jsonBroker(t, broker.Config{Stored: []broker.Stored{s}})
	c, h := connectLocal(t, localListener(b), 1)
	sub, err := c.Subscribe(broker.LocalSubConfig{Filter: "orders/#", Durable: "slow", Start: native.StartFirst})
	wantNoError(t, err)
	<-slow.begun
	sub.Close(false)
	close(slow.release)
	h.await(t, "Opened", func() bool { return len(h.opened) == 1 })
}
