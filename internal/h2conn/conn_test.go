package h2conn

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"example.com/ferry/protocol/http2"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/unix"
)

func randomBytes(n int) []byte {
	p := make([]byte, n)
	_, _ = rand.Read(p)
	return p
}

// wantEcho posts a body and compares the response.
func wantEcho(t testing.TB, h *client, size int) {
	t.Helper()
	body := randomBytes(size)
	v, got, err := h.post(body, nil)
	if err != nil {
		t.Errorf("POST of %d bytes: %v after %d bytes", size, err, len(got))
		return
	}
	if v.status != 200 || !bytes.Equal(got, body) || v.trailers["x-total"] != strconv.Itoa(size) {
		t.Errorf("POST of %d bytes: status %d, %d bytes, trailers %v", size, v.status, len(got), v.trailers)
	}
}

func TestBothEnds(t *testing.T) {
	t.Parallel()
	s := listen(t, nil, nil)
	h, _ := dial(t, s.addr, nil)
	for _, size := range []int{0, 1, 1000, 64 << 10, 3 << 20} {
		wantEcho(t, h, size)
	}
}

// TestMany has many streams at once, whose bodies share the windows and the writer.
func TestMany(t *testing.T) {
	t.Parallel()
	s := listen(t, &Config{WriteBuffer: 32 << 10}, nil)
	h, _ := dial(t, s.addr, &Config{WriteBuffer: 32 << 10})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			for range 2 {
				wantEcho(t, h, i*3000)
			}
		})
	}
	all.Wait()
}

// TestTransports runs over conns of other kinds than TCP.
func TestTransports(t *testing.T) {
	t.Parallel()
	network := memory.New(nil)
	for name, pair := range map[string]func() (near, far net.Conn){
		"pipe": net.Pipe,
		"memory": func() (net.Conn, net.Conn) {
			l, err := network.Listen(t.Context(), "h2conn")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			near, err := network.Dial(t.Context(), "h2conn")
			if err != nil {
				t.Fatal(err)
			}
			far, err := l.Accept(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return near, far
		},
		"unix": func() (net.Conn, net.Conn) {
			path := t.TempDir() + "/s"
			l, err := unix.New(nil).Listen(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			near, err := unix.New(nil).Dial(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			far, err := l.Accept(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return near, far
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := listen(t, nil, nil)
			near, far := pair()
			s.serve(far)
			h, _ := connect(t, near, nil)
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() { wantEcho(t, h, 300_000) })
			}
			all.Wait()
		})
	}
}

// TestSlowReader leaves the body of a response unread, on a stream whose window and queue are full. Other streams continue.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	s := listen(t, nil, nil)
	h, _ := dial(t, s.addr, nil)
	h.conn.Lock()
	slow, err := h.open(map[string]string{"x-size": "3000000"}, true)
	if err == nil {
		err = slow.await(slow.wake, func() bool { return len(slow.body) == http2.DefaultStreamWindow })
	}
	h.conn.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		wantEcho(t, h, 300_000)
	}
	h.conn.Lock()
	defer h.conn.Unlock()
	if len(slow.body) != http2.DefaultStreamWindow {
		t.Errorf("%d bytes arrived that the window does not allow", len(slow.body))
	}
	total := 0
	for {
		p, err := slow.receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		total += len(p)
	}
	slow.release()
	if total != 3_000_000 || slow.trailers["x-total"] != "3000000" {
		t.Errorf("%d bytes and trailers %v, want 3000000", total, slow.trailers)
	}
}

// TestClosedUnderLoad closes one end while requests are under way. Every request ends, and no goroutine stays.
func TestClosedUnderLoad(t *testing.T) {
	for _, end := range []string{"client", "server", "socket"} {
		t.Run(end, func(t *testing.T) {
			before := runtime.NumGoroutine()
			t.Run("", func(t *testing.T) {
				s := listen(t, nil, nil)
				h, done := dial(t, s.addr, nil)
				var all sync.WaitGroup
				failed := make(chan error, 20)
				for range 20 {
					all.Go(func() {
						for {
							if _, _, err := h.post(make([]byte, 200_000), nil); err != nil {
								failed <- err
								return
							}
						}
					})
				}
				wantEcho(t, h, 100_000) // the load has begun
				broken := errors.New("broken on purpose")
				switch end {
				case "client":
					h.conn.Close(broken)
				case "server":
					s.each(func(c *Conn) { c.Close(broken) })
				case "socket":
					_ = h.conn.Raw().Close()
				}
				all.Wait()
				for range 20 {
					var reset http2.StreamError
					if err := <-failed; !errors.As(err, &reset) && !errors.Is(err, errNoStream) {
						t.Errorf("a request ended with %v, want a StreamError", err)
					}
				}
				why := <-done
				if end == "client" && !errors.Is(why, broken) || why == nil && end == "socket" {
					t.Errorf("Serve = %v", why)
				}
				if err := h.conn.Err(); err == nil {
					t.Error("Err of a closed connection = nil")
				}
			})
			settle(t, before)
		})
	}
}
