package transporttest

import (
	"context"
	"runtime"
	"testing"
	"time"

	"example.com/ferry/transport"
)

// Subject is a transport to test.
type Subject struct {
	Server, Client transport.Transport // one value, unless the two ends need different configurations

	// Addr returns an unused address to listen on.
	Addr func(t *testing.T) string

	// Closed returns an address on which nothing listens. If Closed is nil, the test uses the address of a closed listener.
	Closed func(t *testing.T) string

	// NoCloseWrite is true if Conns of the transport have no CloseWrite.
	NoCloseWrite bool

	// Stall connects to addr and does not complete the handshake before the test ends. Stall is nil if the transport has no
	// handshake.
	Stall func(t *testing.T, addr string)
}

// timeout bounds each step. In a correct transport a step needs milliseconds.
const timeout = 20 * time.Second

// Run tests s against the contract of package transport. Each subtest uses its own connections. All goroutines of a subtest
// must end with the subtest.
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
			t.Run("", func(t *testing.T) { p.test(t, s) }) // the inner Run ends, with its cleanups, before the goroutines are counted
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

// connect returns the two ends of a new connection. client has already written one byte, and server has read the byte.
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
	t.Cleanup(func() { // closes both ends at the same time, because each may wait for the other
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

// async runs f in a new goroutine and sends its result on the channel.
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
