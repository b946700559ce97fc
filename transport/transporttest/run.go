package transporttest

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"example.com/ferry/transport"
)

// Subject is a transport to test.
type Subject struct {
	Server, Client transport.Transport // may be the same; two where the ends are configured differently

	// Addr returns an address to listen on that nobody uses.
	Addr func(t *testing.T) string

	// Closed returns an address that nobody listens on. Nil means: listen, close, and dial what was listened on.
	Closed func(t *testing.T) string

	// Stall connects to addr and never finishes the handshake, until the test ends. Nil means that the transport has none.
	Stall func(t *testing.T, addr string)
}

// patience bounds what should happen at once: only a defect takes that long.
const patience = 20 * time.Second

// Run checks s against the contract of package transport. Each part runs on connections of its own, and leaves no goroutine
// behind.
func Run(t *testing.T, s Subject) {
	parts := []struct {
		name string
		test func(*testing.T, Subject)
	}{
		{"Echo", testEcho},
		{"Large", testLarge},
		{"ReadAndWriteOverlap", testOverlap},
		{"CloseDeliversWhatWasWritten", testCloseDelivers},
		{"CloseWrite", testCloseWrite},
		{"CloseUnblocks", testCloseUnblocks},
		{"PeerGone", testPeerGone},
		{"ReadDeadline", testReadDeadline},
		{"WriteDeadline", testWriteDeadline},
		{"DialCancelled", testDialCancelled},
		{"DialClosedPort", testDialClosed},
		{"AcceptCancelled", testAcceptCancelled},
		{"AcceptAfterClose", testAcceptAfterClose},
		{"ConnectionsOutliveListener", testOutliveListener},
		{"BusyAddress", testBusy},
		{"StalledHandshake", testStalled},
		{"Streams", testStreams},
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			t.Run("", func(t *testing.T) { p.test(t, s) }) // its cleanups run before goroutines are counted
			noneLeft(t, before)
		})
	}
}

func noneLeft(t *testing.T, before int) {
	t.Helper()
	limit := time.Now().Add(patience)
	for runtime.NumGoroutine() > before {
		if time.Now().After(limit) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("goroutines: %d, want %d as before the test\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(time.Millisecond)
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func listen(t *testing.T, s Subject) transport.Listener {
	t.Helper()
	l, err := s.Server.Listen(within(t), s.Addr(t))
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// connect returns the two ends of a new connection. The dialing end has written, and the other has read, one byte.
func connect(t *testing.T, s Subject) (client, server transport.Conn) {
	t.Helper()
	return connectTo(t, s, listen(t, s))
}

func connectTo(t *testing.T, s Subject, l transport.Listener) (client, server transport.Conn) {
	t.Helper()
	ctx := within(t)
	client, err := s.Client.Dial(ctx, l.Addr().String())
	if err != nil {
		t.Fatalf("Dial %s: %v", l.Addr(), err)
	}
	if _, err := client.Write([]byte{'?'}); err != nil {
		t.Fatalf("first Write: %v", err)
	}
	server, err = l.Accept(ctx)
	if err != nil {
		t.Fatalf("Accept: %v", err)
	}
	t.Cleanup(func() { // at once, as an end may wait for the other
		done := async(client.Close)
		_ = server.Close()
		_ = await(t, "Close", done)
	})
	_ = client.SetDeadline(time.Now().Add(patience))
	_ = server.SetDeadline(time.Now().Add(patience))
	if got := readN(t, server, 1); got[0] != '?' {
		t.Fatalf("first byte = %q, want ?", got)
	}
	return client, server
}

// async runs f in a goroutine of its own.
func async(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func await(t *testing.T, what string, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatalf("%s: still blocked after %v", what, patience)
		return nil
	}
}

// halfCloser is a Conn that can end its own direction only.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}
