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
	Server, Client transport.Transport // the same, unless the two ends are configured differently

	// Addr returns an unused address to listen on.
	Addr func(t *testing.T) string

	// Closed returns an address without a listener. Nil means the address of a listener that was closed.
	Closed func(t *testing.T) string

	// Stall connects to addr and does not complete the handshake before the test ends. Nil means that there is no handshake.
	Stall func(t *testing.T, addr string)
}

// timeout bounds steps that take milliseconds in a correct transport.
const timeout = 20 * time.Second

// Run tests s against the contract of package transport. Each part uses its own connections, and all its goroutines must end
// with it.
func Run(t *testing.T, s Subject) {
	parts := []struct {
		name string
		test func(*testing.T, Subject)
	}{
		{"Echo", testEcho},
		{"Large", testLarge},
		{"ReadAndWriteOverlap", testOverlap},
		{"CloseDeliversWhatWasWritten", testCloseDeliversWritten},
		{"CloseWrite", testCloseWrite},
		{"CloseUnblocks", testCloseUnblocks},
		{"PeerGone", testPeerGone},
		{"ReadDeadline", testReadDeadline},
		{"WriteDeadline", testWriteDeadline},
		{"DialCancelled", testDialCancelled},
		{"DialClosedPort", testDialClosedPort},
		{"AcceptCancelled", testAcceptCancelled},
		{"AcceptAfterClose", testAcceptAfterClose},
		{"ConnectionsOutliveListener", testOutliveListener},
		{"BusyAddress", testBusyAddress},
		{"StalledHandshake", testStalledHandshake},
		{"Streams", testStreams},
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			t.Run("", func(t *testing.T) { p.test(t, s) }) // its cleanups run before goroutines are counted
			waitForGoroutines(t, before)
		})
	}
}

func waitForGoroutines(t *testing.T, before int) {
	t.Helper()
	limit := time.Now().Add(timeout)
	for runtime.NumGoroutine() > before {
		if time.Now().After(limit) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("goroutines: %d, want %d as before the test\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(time.Millisecond)
	}
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return ctx
}

func listen(t *testing.T, s Subject) transport.Listener {
	t.Helper()
	l, err := s.Server.Listen(testContext(t), s.Addr(t))
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
	ctx := testContext(t)
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
	t.Cleanup(func() { // both at the same time, as one end may wait for the other
		done := async(client.Close)
		_ = server.Close()
		_ = await(t, "Close", done)
	})
	_ = client.SetDeadline(time.Now().Add(timeout))
	_ = server.SetDeadline(time.Now().Add(timeout))
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

func await(t *testing.T, name string, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(timeout):
		t.Fatalf("%s: still blocked after %v", name, timeout)
		return nil
	}
}

// halfCloser is a Conn that can end its own direction only.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}
