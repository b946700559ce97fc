package transporttest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"example.com/ferry/transport"
)

func randomBytes(n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(p)
	return p
}

func readN(t *testing.T, c net.Conn, n int) []byte {
	t.Helper()
	got := make([]byte, n)
	if k, err := io.ReadFull(c, got); err != nil {
		t.Fatalf("Read: %v after %d of %d bytes", err, k, n)
	}
	return got
}

func writeAsync(c net.Conn, p []byte) <-chan error {
	return async(func() error {
		n, err := c.Write(p)
		if err == nil && n != len(p) {
			return io.ErrShortWrite
		}
		return err
	})
}

func sameBytes(t *testing.T, name string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: %d bytes arrived that differ from the %d written", name, len(got), len(want))
	}
}

func testEcho(t *testing.T, s Subject) {
	client, server := connect(t, s)
	for _, size := range []int{1, 2, 1000, 1452, 70_000} {
		want := randomBytes(size)
		sent := writeAsync(client, want)
		got := readN(t, server, size)
		if err := await(t, "Write", sent); err != nil {
			t.Fatalf("Write of %d bytes: %v", size, err)
		}
		sameBytes(t, "to the server", got, want)
		sent = writeAsync(server, got)
		sameBytes(t, "to the client", readN(t, client, size), want)
		if err := await(t, "Write", sent); err != nil {
			t.Fatalf("Write of %d bytes back: %v", size, err)
		}
	}
	if client.LocalAddr() == nil || client.RemoteAddr() == nil || server.LocalAddr() == nil || server.RemoteAddr() == nil {
		t.Error("an end has no addresses")
	}
}

func testLarge(t *testing.T, s Subject) {
	client, server := connect(t, s)
	want := randomBytes(8 << 20)
	sent := writeAsync(client, want)
	sameBytes(t, "8 MiB", readN(t, server, len(want)), want)
	if err := await(t, "Write", sent); err != nil {
		t.Fatalf("Write: %v", err)
	}
}

func testOverlap(t *testing.T, s Subject) {
	client, server := connect(t, s)
	up, down := randomBytes(3<<20), randomBytes(2<<20)
	sentUp, sentDown := writeAsync(client, up), writeAsync(server, down)
	gotUp := make([]byte, len(up))
	readUp := async(func() error { _, err := io.ReadFull(server, gotUp); return err })
	sameBytes(t, "down", readN(t, client, len(down)), down)
	for name, done := range map[string]<-chan error{"Read": readUp, "Write up": sentUp, "Write down": sentDown} {
		if err := await(t, name, done); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	sameBytes(t, "up", gotUp, up)
}

func testCloseDeliversWritten(t *testing.T, s Subject) {
	l := listen(t, s)
	for _, size := range []int{1, 1 << 20} {
		client, server := connectTo(t, s, l)
		want := randomBytes(size)
		closed := async(func() error {
			if _, err := client.Write(want); err != nil {
				return err
			}
			return client.Close()
		})
		got, err := io.ReadAll(server)
		if err != nil {
			t.Fatalf("Read: %v after %d of %d bytes: Close lost the last bytes", err, len(got), size)
		}
		sameBytes(t, "before Close", got, want)
		if err := await(t, "Close", closed); err != nil {
			t.Fatalf("Write and Close: %v", err)
		}
		if n, err := server.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("Read after the end = %d, %v, want 0, io.EOF again", n, err)
		}
	}
}

func testCloseWrite(t *testing.T, s Subject) {
	client, server := connect(t, s)
	half, ok := client.(transport.HalfCloser)
	if ok == s.NoCloseWrite {
		t.Fatalf("%T has CloseWrite: %v, but Subject.NoCloseWrite is %v", client, ok, s.NoCloseWrite)
	}
	if !ok {
		return
	}
	request, response := randomBytes(100_000), randomBytes(300_000)
	sent := async(func() error {
		if _, err := client.Write(request); err != nil {
			return err
		}
		return half.CloseWrite()
	})
	got, err := io.ReadAll(server)
	if err != nil {
		t.Fatalf("Read to the end of the request: %v", err)
	}
	sameBytes(t, "request", got, request)
	if err := await(t, "CloseWrite", sent); err != nil {
		t.Fatalf("Write and CloseWrite: %v", err)
	}
	responded := async(func() error {
		if _, err := server.Write(response); err != nil {
			return err
		}
		return server.Close()
	})
	got, err = io.ReadAll(client)
	if err != nil {
		t.Fatalf("Read of the response after CloseWrite: %v", err)
	}
	sameBytes(t, "response", got, response)
	if err := await(t, "Close", responded); err != nil {
		t.Fatalf("response: %v", err)
	}
	if _, err := client.Write([]byte{1}); err == nil {
		t.Error("Write after CloseWrite: no error")
	}
}

func testPeerGone(t *testing.T, s Subject) {
	client, server := connect(t, s)
	read := async(func() error { _, err := client.Read(make([]byte, 1)); return err })
	if err := server.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := await(t, "Read", read); err == nil {
		t.Error("Read from a peer that closed: no error")
	}
	// The first writes may succeed until buffers are full or the peer's reset has arrived.
	chunk := randomBytes(64 << 10)
	limit := time.Now().Add(timeout)
	for {
		if _, err := client.Write(chunk); err != nil {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("Write to a peer that closed: no error in %v", timeout)
		}
	}
}
