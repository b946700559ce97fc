package broker_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// closeTogether is a listener whose connections block in Close until Close was called on all of them.
type closeTogether struct {
	transport.Listener
	closing sync.WaitGroup
}

func (l *closeTogether) Accept(ctx context.Context) (transport.Conn, error) {
	conn, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return &togetherConn{Conn: conn, l: l}, nil
}

type togetherConn struct {
	net.Conn
	l    *closeTogether
	once sync.Once
}

func (c *togetherConn) Close() error {
	c.once.Do(c.l.closing.Done)
	c.l.closing.Wait()
	return c.Conn.Close()
}

// TestShutdownClosesConnectionsTogether: when its context ends, Shutdown closes all connections concurrently. A
// connection that is slow to close, such as a QUIC connection whose client has gone, does not delay the others.
func TestShutdownClosesConnectionsTogether(t *testing.T) {
	const clients = 3
	network := memory.New(nil)
	inner, err := network.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	l := &closeTogether{Listener: inner}
	l.closing.Add(clients)
	h, err := broker.New(broker.Config{Identify: broker.Anyone, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(t.Context(), l, broker.ValidateFull) }()
	for range clients {
		conn, err := network.Dial(t.Context(), "node")
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		p := &peer{t: t, conn: conn}
		p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1}))
		if f := p.read(); f.Kind() != native.Welcome {
			t.Fatalf("got %v", f.Kind())
		}
		p.write(native.AppendTag(nil, native.TagFrame{Ref: 1, Name: "a"})) // a client with a grant may publish, so the broker waits for this client
		if f := p.read(); f.Kind() != native.Result {
			t.Fatalf("got %v", f.Kind())
		}
	}
	_ = l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() { ended <- h.Shutdown(ctx) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Shutdown: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Shutdown waits for the first connection to be closed before it closes the second")
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
