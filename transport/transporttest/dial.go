package transporttest

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
)

func testDialCancelled(t *testing.T, s Subject) {
	l := listen(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if conn, err := s.Client.Dial(ctx, l.Addr().String()); err == nil {
		_ = conn.Close()
		t.Fatal("Dial with a context that has ended: no error")
	}
}

func testDialClosedPort(t *testing.T, s Subject) {
	var addr string
	if s.Closed != nil {
		addr = s.Closed(t)
	} else {
		l := listen(t, s)
		addr = l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	conn, err := s.Client.Dial(testContext(t), addr)
	if err == nil {
		_ = conn.Close()
		t.Fatalf("Dial %s, which has no listener: no error", addr)
	}
	if !strings.Contains(err.Error(), addr) {
		t.Errorf("error %q does not name the address %s", err, addr)
	}
}

func testAcceptCancelled(t *testing.T, s Subject) {
	l := listen(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	accepted := async(func() error { _, err := l.Accept(ctx); return err })
	cancel()
	if err := await(t, "Accept", accepted); !errors.Is(err, context.Canceled) {
		t.Errorf("Accept with a cancelled context = %v, want context.Canceled", err)
	}
	connectTo(t, s, l) // the listener still works
}

func testAcceptAfterClose(t *testing.T, s Subject) {
	l := listen(t, s)
	waiting := async(func() error { _, err := l.Accept(t.Context()); return err })
	if err := l.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := await(t, "Accept", waiting); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept that waits during Close = %v, want net.ErrClosed", err)
	}
	if _, err := l.Accept(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close = %v, want net.ErrClosed", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func testOutliveListener(t *testing.T, s Subject) {
	l := listen(t, s)
	client, server := connectTo(t, s, l)
	if err := l.Close(); err != nil {
		t.Fatalf("Close of the listener: %v", err)
	}
	if _, err := client.Write([]byte("still")); err != nil {
		t.Fatalf("Write after the listener closed: %v", err)
	}
	if got := string(readN(t, server, 5)); got != "still" {
		t.Errorf("Read = %q, want still", got)
	}
}

func testBusyAddress(t *testing.T, s Subject) {
	l := listen(t, s)
	client, server := connectTo(t, s, l)
	addr := l.Addr().String()
	second, err := s.Server.Listen(testContext(t), addr)
	if err == nil {
		_ = second.Close()
		t.Fatalf("second Listen on %s: no error", addr)
	}
	if !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("error %q does not say that %s is in use", err, addr)
	}
	sent := writeAsync(client, []byte("undisturbed"))
	if got := string(readN(t, server, 11)); got != "undisturbed" {
		t.Errorf("Read = %q, want undisturbed", got)
	}
	if err := await(t, "Write", sent); err != nil {
		t.Errorf("Write: %v", err)
	}
}

func testStalledHandshake(t *testing.T, s Subject) {
	if s.Stall == nil {
		return // there is no handshake to stall
	}
	l := listen(t, s)
	for range 3 {
		s.Stall(t, l.Addr().String())
	}
	connectTo(t, s, l)
}
