package broker_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// TestSilentConnectionsDoNotCount: connections without a HELLO do not use up the places of clients.
func TestSilentConnectionsDoNotCount(t *testing.T) {
	h, addr := serve(t, broker.Config{MaxConnections: 3, HandshakeTimeout: time.Minute})
	silent := []*peer{connect(t, addr), connect(t, addr)}
	eventually(t, "the broker has accepted both", func() bool { return h.Snapshot().Handshakes == 2 })
	for range 3 {
		greet(t, addr).settled()
	}
	if g := connect(t, addr).goaway(); g.Code != native.CodeLimit {
		t.Errorf("a fourth client: got %v %q", g.Code, g.Reason)
	}
	for _, p := range silent {
		p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1}))
		if g := p.goaway(); g.Code != native.CodeLimit || !strings.Contains(g.Reason, "3 connections") {
			t.Errorf("a HELLO to a broker without a free place: got %v %q", g.Code, g.Reason)
		}
	}
}

// TestOldestHandshakeMakesRoom: if MaxConnections connections have sent no HELLO, a further connection closes the
// oldest one.
func TestOldestHandshakeMakesRoom(t *testing.T) {
	h, addr := serve(t, broker.Config{MaxConnections: 2, HandshakeTimeout: time.Minute})
	var silent []*peer
	for range 2 {
		silent = append(silent, connect(t, addr))
		eventually(t, "the broker has accepted it", func() bool { return h.Snapshot().Handshakes == len(silent) })
	}
	greet(t, addr).settled()
	if g := silent[0].goaway(); g.Code != native.CodeLimit || !strings.Contains(g.Reason, "HELLO") {
		t.Errorf("the oldest: got %v %q", g.Code, g.Reason)
	}
	silent[1].write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1}))
	if f := silent[1].read(); f.Kind() != native.Welcome {
		t.Errorf("the other one: got %v", f.Kind())
	}
}

// slowToClose is a listener whose connections block in Close until the channel release is closed.
type slowToClose struct {
	transport.Listener
	release chan struct{}
}

func (l *slowToClose) Accept(ctx context.Context) (transport.Conn, error) {
	conn, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return slowConn{conn, l}, nil
}

type slowConn struct {
	net.Conn
	l *slowToClose
}

func (c slowConn) Close() error {
	<-c.l.release
	return c.Conn.Close()
}

// TestTurningAwayDoesNotBlockAccept: a connection that is slow to close does not delay the next ones.
func TestTurningAwayDoesNotBlockAccept(t *testing.T) {
	network := memory.New(nil)
	inner, err := network.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	l := &slowToClose{Listener: inner, release: make(chan struct{})}
	h, err := broker.New(broker.Config{Identify: broker.Anyone, MaxConnections: 8, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(t.Context(), l, broker.ValidateFull) }()
	dial := func() *peer {
		conn, err := network.Dial(t.Context(), "node")
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		return &peer{t: t, conn: conn}
	}
	for range 8 {
		p := dial()
		p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1}))
		if f := p.read(); f.Kind() != native.Welcome {
			t.Fatalf("got %v", f.Kind())
		}
	}
	for range 5 {
		if f := dial().read(); f.Kind() != native.Goaway {
			t.Errorf("got %v", f.Kind())
		}
	}
	close(l.release)
	_ = l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_ = h.Shutdown(ctx)
	if err := <-served; err != nil {
		t.Error(err)
	}
}
