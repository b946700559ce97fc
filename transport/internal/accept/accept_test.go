package accept_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/transport/internal/accept"
)

// memoryListener returns the server's ends of pipes that connect has made.
type memoryListener chan net.Conn

func (l memoryListener) Accept() (net.Conn, error) {
	conn, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l memoryListener) Close() error   { close(l); return nil }
func (l memoryListener) Addr() net.Addr { return &net.UnixAddr{} }

func (l memoryListener) connect() net.Conn {
	client, server := net.Pipe()
	l <- server
	return client
}

// readTwo is a handshake that ends with the client's second byte. It waits for work after the first one.
func readTwo(work <-chan struct{}) func(context.Context, net.Conn) (net.Conn, error) {
	return func(ctx context.Context, conn net.Conn) (net.Conn, error) {
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		var b [1]byte
		if _, err := conn.Read(b[:]); err != nil {
			return nil, err
		}
		<-work
		_, err := conn.Read(b[:])
		return conn, err
	}
}

// listen listens for handshakes of which two may be in progress.
func listen(work <-chan struct{}) (memoryListener, *accept.Listener) {
	inner := make(memoryListener, 16)
	l := accept.New(inner, accept.Handshake{Do: readTwo(work), Timeout: time.Minute, Max: 2})
	return inner, l
}

func write(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
}

func checkOpen(t *testing.T, conn net.Conn, open bool) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now())
	_, err := conn.Read(make([]byte, 1))
	if isOpen := !errors.Is(err, io.EOF); isOpen != open {
		t.Errorf("the connection is open: %t, want %t (%v)", isOpen, open, err)
	}
}

// TestManyClients has more clients at one time than handshakes may be in progress, and a server that computes for long. All are served.
func TestManyClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		work := make(chan struct{})
		inner, l := listen(work)
		defer func() { _ = l.Close() }()
		const clients = 5
		for range clients {
			conn := inner.connect()
			go func() { _, _ = conn.Write([]byte{1, 1}) }()
		}
		for served := range clients {
			time.Sleep(10 * time.Second) // far more than a silent client may take
			work <- struct{}{}
			if _, err := l.Accept(t.Context()); err != nil {
				t.Fatalf("after %d connections: %v", served, err)
			}
		}
	})
}

// TestSilentClients has silent clients, and one that sends a byte, in all places. They keep them until a second has passed and another client
// waits, which gets the place of the oldest one.
func TestSilentClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		work := make(chan struct{})
		close(work)
		inner, l := listen(work)
		defer func() { _ = l.Close() }()
		first := inner.connect()
		synctest.Wait()
		time.Sleep(300 * time.Millisecond)
		second := inner.connect()
		time.Sleep(5 * time.Second)
		write(t, first)
		synctest.Wait()
		checkOpen(t, first, true)
		third := inner.connect()
		synctest.Wait()
		checkOpen(t, first, false)
		checkOpen(t, second, true)
		write(t, third)
		write(t, third)
		if _, err := l.Accept(t.Context()); err != nil {
			t.Fatal(err)
		}

		// Places that were taken just now are kept for a second.
		fourth := inner.connect()
		synctest.Wait()
		fifth := inner.connect()
		synctest.Wait()
		checkOpen(t, second, false)
		sixth := inner.connect()
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		checkOpen(t, fourth, true)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		checkOpen(t, fourth, false)
		checkOpen(t, fifth, true)
		checkOpen(t, sixth, true)
	})
}

// TestFloodOfSilentClients has far more silent clients than places. The ones that wait behind them are served soon.
func TestFloodOfSilentClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		work := make(chan struct{})
		close(work)
		inner := make(memoryListener, 64)
		l := accept.New(inner, accept.Handshake{Do: readTwo(work), Timeout: time.Minute, Max: 2})
		defer func() { _ = l.Close() }()
		for range 40 {
			inner.connect()
		}
		conn := inner.connect()
		go func() { _, _ = conn.Write([]byte{1, 1}) }()
		began := time.Now()
		if _, err := l.Accept(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("a client behind 40 silent ones was served after %v, want at most 5 s", took)
		}

		// Clients that succeed make the listener as patient as before.
		for range 6 {
			conn := inner.connect()
			go func() { _, _ = conn.Write([]byte{1, 1}) }()
			if _, err := l.Accept(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		first := inner.connect()
		inner.connect()
		inner.connect()
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		checkOpen(t, first, true)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		checkOpen(t, first, false)
	})
}

// TestCloseWithWaiting closes a listener while a connection waits for a place.
func TestCloseWithWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner, l := listen(nil)
		clients := []net.Conn{inner.connect(), inner.connect(), inner.connect()}
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		for _, conn := range clients {
			checkOpen(t, conn, false)
		}
	})
}
