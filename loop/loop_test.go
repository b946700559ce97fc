package loop

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const patience = 2 * time.Minute // limits waiting for events that must happen; no test depends on how long it took

// both runs a test with epoll and with goroutines.
func both(t *testing.T, f func(t *testing.T, cfg Config)) {
	kinds := []struct {
		name     string
		portable bool
	}{{"system", false}, {"goroutines", true}}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) { f(t, Config{Loops: 2, Portable: kind.portable}) })
	}
}

func start(t *testing.T, cfg Config) *Group {
	t.Helper()
	g, err := New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = g.Shutdown(ctx)
	})
	return g
}

var loopback = Addr{TCP: netip.MustParseAddrPort("127.0.0.1:0")}

func listen(t *testing.T, g *Group, accepted AcceptFunc) Addr {
	t.Helper()
	ln, err := g.Listen(loopback, accepted)
	if err != nil {
		t.Fatal(err)
	}
	return Addr{TCP: ln.Addr().(*net.TCPAddr).AddrPort()}
}

func connect(t *testing.T, to Addr) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", to.String(), patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// connectSlow is connect for a peer that does not read for a while. Its socket has a small buffer, which the system does not enlarge:
// otherwise it may take more bytes than a test sends, up to tcp_rmem of the machine.
func connectSlow(t *testing.T, to Addr) net.Conn {
	t.Helper()
	conn := connect(t, to)
	if err := conn.(*net.TCPConn).SetReadBuffer(256 << 10); err != nil {
		t.Fatal(err)
	}
	return conn
}

// script is a handler made of functions. A nil function does what the method of Base does.
type script struct {
	Base
	opened     func(*Conn)
	data       func(*Conn, []byte) int
	drained    func(*Conn)
	halfClosed func(*Conn)
	timer      func(*Conn, int)
	closed     func(*Conn, error)
}

func (s *script) Opened(c *Conn) {
	if s.opened != nil {
		s.opened(c)
	}
}

func (s *script) Data(c *Conn, p []byte) int {
	if s.data != nil {
		return s.data(c, p)
	}
	return len(p)
}

func (s *script) Drained(c *Conn) {
	if s.drained != nil {
		s.drained(c)
	}
}

func (s *script) HalfClosed(c *Conn) {
	if s.halfClosed != nil {
		s.halfClosed(c)
		return
	}
	c.Close()
}

func (s *script) Timer(c *Conn, which int) {
	if s.timer != nil {
		s.timer(c, which)
	}
}

func (s *script) Closed(c *Conn, err error) {
	if s.closed != nil {
		s.closed(c, err)
	}
}

// echo writes received bytes back. It pauses reading while its peer does not read.
func echo() *script {
	return &script{
		data: func(c *Conn, p []byte) int {
			c.Write(p)
			if c.Full() {
				c.PauseReading()
			}
			return len(p)
		},
		drained: func(c *Conn) { c.ResumeReading() },
	}
}

func accept(h func() *script) AcceptFunc { return func(*Conn) Handler { return h() } }

// wait receives from ch, and fails the test if nothing comes in time.
func wait[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not happen within %v", what, patience)
		panic("unreachable")
	}
}

// eventually waits until f holds.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come to be within %v", what, patience)
		}
	}
}

func noise(seed uint64, n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(p)
	return p
}

func TestEchoOfManyConnections(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		to := listen(t, g, accept(echo))
		const conns, rounds = 1000, 3
		var open []net.Conn
		for range conns {
			open = append(open, connect(t, to))
		}
		var wg sync.WaitGroup
		for i, conn := range open {
			wg.Go(func() {
				for r := range rounds {
					want := noise(uint64(i*rounds+r), 1+i*7%3000)
					if _, err := conn.Write(want); err != nil {
						t.Errorf("connection %d: %v", i, err)
						return
					}
					got := make([]byte, len(want))
					if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
						t.Errorf("connection %d, round %d: %d other bytes came back, or none: %v", i, r, len(got), err)
						return
					}
				}
			})
		}
		wg.Wait()
		// The loop counts bytes when a write has returned. The client may read the bytes before that.
		eventually(t, "no queue", func() bool { sum, _ := g.Stats(); return sum.Queues == 0 })
		sum, each := g.Stats()
		if sum.Conns != conns || sum.Accepted != conns || sum.Unread != 0 {
			t.Errorf("%+v: want %d connections that hold no buffers", sum, conns)
		}
		if sum.BytesIn != sum.BytesOut || sum.BytesIn == 0 {
			t.Errorf("%d bytes came in, %d went out", sum.BytesIn, sum.BytesOut)
		}
		if len(each) != cfg.Loops {
			t.Errorf("numbers of %d loops, want %d", len(each), cfg.Loops)
		}
	})
}

// TestSplitReads uses a handler that consumes whole messages only. A message is a byte with the length, followed by that many
// bytes.
func TestSplitReads(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		got := make(chan string, 1000)
		to := listen(t, g, accept(func() *script {
			return &script{data: func(_ *Conn, p []byte) int {
				taken := 0
				for len(p) > taken && len(p) > taken+int(p[taken]) {
					n := 1 + int(p[taken])
					got <- string(p[taken+1 : taken+n])
					taken += n
				}
				return taken
			}}
		}))
		var sent []byte
		var want []string
		for i := range 40 {
			m := noise(uint64(i), i*6%251)
			want = append(want, string(m))
			sent = append(append(sent, byte(len(m))), m...)
		}
		for _, size := range []int{1, 3, 100, len(sent)} {
			conn := connect(t, to)
			for rest := sent; len(rest) > 0; {
				n := min(size, len(rest))
				if _, err := conn.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			for i := range want {
				if m := wait(t, "a message", got); m != want[i] {
					t.Fatalf("pieces of %d: message %d is %x, want %x", size, i, m, want[i])
				}
			}
		}
		if sum, _ := g.Stats(); sum.Unread != 0 {
			t.Errorf("%d connections hold bytes though all were taken", sum.Unread)
		}
	})
}

func TestUnreadHasALimit(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.MaxUnread = 10_000
		g := start(t, cfg)
		closed := make(chan error, 1)
		to := listen(t, g, accept(func() *script {
			return &script{
				data:   func(*Conn, []byte) int { return 0 },
				closed: func(_ *Conn, err error) { closed <- err },
			}
		}))
		conn := connect(t, to)
		go func() { _, _ = conn.Write(make([]byte, 200_000)) }()
		err := wait(t, "the end of the connection", closed)
		if err == nil || !strings.Contains(err.Error(), "MaxUnread") {
			t.Errorf("Closed with %v, want an error that names MaxUnread", err)
		}
	})
}

// TestSlowReader writes many bytes to a peer that reads nothing for a while. The loop pauses reading from the sender. It
// queues at most the high water mark plus one turn.
func TestSlowReader(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.HighWater, cfg.TurnBytes = 64<<10, 64<<10
		g := start(t, cfg)
		most := make(chan int, 1)
		to := listen(t, g, accept(func() *script {
			h, largest := echo(), 0
			data := h.data
			h.data = func(c *Conn, p []byte) int {
				n := data(c, p)
				largest = max(largest, c.Queued())
				return n
			}
			h.closed = func(*Conn, error) { most <- largest }
			return h
		}))
		conn := connectSlow(t, to)
		want := noise(1, 32<<20)
		sent := make(chan error, 1)
		go func() {
			_, err := conn.Write(want)
			if err == nil {
				err = conn.(*net.TCPConn).CloseWrite()
			}
			sent <- err
		}()
		// Bytes flow until the sockets' buffers are full. Then the counters stop changing.
		last := int64(-1)
		eventually(t, "a standstill", func() bool {
			sum, _ := g.Stats()
			still := sum.BytesIn == last && sum.BytesIn > 0
			last = sum.BytesIn
			time.Sleep(50 * time.Millisecond)
			return still
		})
		if last >= int64(len(want)) {
			t.Fatalf("all %d bytes were taken from a peer that reads nothing", last)
		}
		got, err := io.ReadAll(conn)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("read %d bytes of %d, or others: %v", len(got), len(want), err)
		}
		if err := wait(t, "the end of sending", sent); err != nil {
			t.Fatal(err)
		}
		limit := cfg.HighWater + 64<<10
		if got := wait(t, "the end", most); got > limit || got < cfg.HighWater {
			t.Errorf("%d bytes were queued at most, want from %d to %d", got, cfg.HighWater, limit)
		}
	})
}

func TestHugeWriteIsExact(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		want := noise(2, 20<<20)
		to := listen(t, g, accept(func() *script {
			return &script{opened: func(c *Conn) { c.Write(want); c.Close() }}
		}))
		got, err := io.ReadAll(connect(t, to))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("read %d bytes of %d, or others: %v", len(got), len(want), err)
		}
		eventually(t, "no buffer in use", func() bool {
			sum, _ := g.Stats()
			return sum.Queues == 0 && sum.Conns == 0
		})
	})
}

func TestPeerHalfCloses(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		closed := make(chan error, 1)
		to := listen(t, g, accept(func() *script {
			return &script{
				data: func(*Conn, []byte) int { return 0 },
				halfClosed: func(c *Conn) {
					c.Write(append([]byte("you said "), c.Unread()...))
					c.CloseWrite()
					c.Write([]byte("no"))
				},
				closed: func(_ *Conn, err error) { closed <- err },
			}
		}))
		conn := connect(t, to)
		if _, err := conn.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if err != nil || string(got) != "you said hello" {
			t.Errorf("read %q, %v", got, err)
		}
		if err := wait(t, "Closed", closed); err != nil {
			t.Errorf("both sides ended in order, Closed with %v", err)
		}
	})
}

func TestLoopHalfCloses(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		closed, got := make(chan error, 1), make(chan string, 1)
		to := listen(t, g, accept(func() *script {
			return &script{
				opened:     func(c *Conn) { c.Write([]byte("bye")); c.CloseWrite() },
				data:       func(c *Conn, p []byte) int { return 0 },
				halfClosed: func(c *Conn) { got <- string(c.Unread()) },
				closed:     func(_ *Conn, err error) { closed <- err },
			}
		}))
		conn := connect(t, to)
		text, err := io.ReadAll(conn) // returns while the connection is still open
		if err != nil || string(text) != "bye" {
			t.Fatalf("read %q, %v", text, err)
		}
		if _, err := conn.Write([]byte("still here")); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if s := wait(t, "HalfClosed", got); s != "still here" {
			t.Errorf("got %q after the loop ended its side", s)
		}
		if err := wait(t, "Closed", closed); err != nil {
			t.Errorf("Closed with %v", err)
		}
	})
}

func TestAbortIsAReset(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		cause := errors.New("enough")
		closed := make(chan error, 1)
		to := listen(t, g, accept(func() *script {
			return &script{
				data: func(c *Conn, p []byte) int {
					c.Write([]byte("never sent"))
					c.Abort(cause)
					c.Abort(nil)
					c.Close()
					return len(p)
				},
				closed: func(_ *Conn, err error) { closed <- err },
			}
		}))
		conn := connect(t, to)
		if _, err := conn.Write([]byte("go")); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || len(got) > 0 {
			t.Errorf("read %q, %v, want a reset", got, err)
		}
		if err := wait(t, "Closed", closed); !errors.Is(err, cause) {
			t.Errorf("Closed with %v, want what Abort was given", err)
		}
	})
}

func TestPeerResets(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		opened, closed := make(chan struct{}), make(chan error, 1)
		to := listen(t, g, accept(func() *script {
			return &script{
				opened: func(*Conn) { close(opened) },
				closed: func(_ *Conn, err error) { closed <- err },
			}
		}))
		conn := connect(t, to)
		wait(t, "Opened", opened)
		if err := conn.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if err := wait(t, "Closed", closed); err == nil || !strings.HasPrefix(err.Error(), "loop: read: ") {
			t.Errorf("Closed with %v, want the reset", err)
		}
	})
}

// TestDataBeforeAResetIsDelivered: a peer responds and closes without reading everything. The response is delivered before the
// error.
func TestDataBeforeAResetIsDelivered(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		nl, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer nl.Close()
		gone := make(chan struct{})
		go func() {
			conn, err := nl.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("413 too much"))
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.CopyN(io.Discard, conn, 1)
			conn.Close() // with unread bytes, so the peer gets a reset
			close(gone)
		}()
		g := start(t, cfg)
		l := g.Loops()[0]
		got, closed := make(chan string, 1), make(chan error, 1)
		to := Addr{TCP: nl.Addr().(*net.TCPAddr).AddrPort()}
		h := &script{
			opened:     func(c *Conn) { c.Write(make([]byte, 8<<20)) },
			data:       func(_ *Conn, p []byte) int { got <- string(p); return len(p) },
			halfClosed: func(*Conn) {},
			closed:     func(_ *Conn, err error) { closed <- err },
		}
		if err := l.Post(func() { l.Dial(to, patience, h) }); err != nil {
			t.Fatal(err)
		}
		if s := wait(t, "the answer", got); s != "413 too much" {
			t.Errorf("got %q", s)
		}
		wait(t, "the peer's end", gone)
		if err := wait(t, "Closed", closed); err == nil {
			t.Error("Closed without an error though the peer did not take all")
		}
	})
}

func TestUnixSockets(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		if runtime.GOOS == "windows" {
			t.Skip("needs Unix: sockets of files behave otherwise on Windows")
		}
		path := filepath.Join(t.TempDir(), "s")
		dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		dead.SetUnlinkOnClose(false)
		dead.Close() // leaves a socket without a listening process, which Listen replaces
		g := start(t, cfg)
		ln, err := g.Listen(Addr{Unix: path}, accept(echo))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Listen(Addr{Unix: path}, accept(echo)); err == nil || !strings.Contains(err.Error(), "is in use") {
			t.Errorf("a second listener on %s: %v", path, err)
		}
		l := g.Loops()[1]
		want := noise(3, 300_000)
		var got []byte
		done := make(chan []byte, 1)
		h := &script{
			opened: func(c *Conn) { c.Write(want); c.CloseWrite() },
			data:   func(_ *Conn, p []byte) int { got = append(got, p...); return len(p) },
			closed: func(_ *Conn, err error) { done <- got },
		}
		if err := l.Post(func() { l.Dial(Addr{Unix: path}, 0, h) }); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, "the echo", done); !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back of %d, or others", len(got), len(want))
		}
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("after Close the socket file is still there: %v", err)
		}
	})
}
