package loop

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// stalled returns a connection whose peer does not read. The system accepts no more bytes, so the rest stays in the queue.
func stalled(t *testing.T, g *Group, h *script, want []byte) (*Conn, net.Conn) {
	t.Helper()
	opened := make(chan *Conn, 1)
	h.opened = func(c *Conn) { c.Write(want); opened <- c }
	peer := connectSlow(t, listen(t, g, accept(func() *script { return h })))
	c := wait(t, "the connection", opened)
	last := -1
	eventually(t, "a standstill", func() bool {
		n := on(t, c, c.Queued)
		still := n == last && n < len(want)
		last = n
		time.Sleep(20 * time.Millisecond)
		return still
	})
	return c, peer
}

// on runs f on the loop of c and returns its result.
func on[T any](t *testing.T, c *Conn, f func() T) T {
	t.Helper()
	got := make(chan T, 1)
	if err := c.Loop().Post(func() { got <- f() }); err != nil {
		t.Fatal(err)
	}
	return wait(t, "a posted function", got)
}

// TestCloseWaitsForAPeerThatReads: a slow peer is not reset after CloseTimeout, because each byte that it reads restarts that
// time.
func TestCloseWaitsForAPeerThatReads(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.CloseTimeout = time.Hour // the test calls the timer itself
		g := start(t, cfg)
		want := noise(3, 16<<20)
		closed := make(chan error, 1)
		c, peer := stalled(t, g, &script{closed: func(_ *Conn, err error) { closed <- err }}, want)
		expire := func() bool { c.expired(); return c.is(dead) }
		on(t, c, func() bool { c.Close(); return true })
		var got []byte
		for range 3 {
			before := on(t, c, c.Unsent)
			piece := make([]byte, 1<<20)
			if _, err := io.ReadFull(peer, piece); err != nil {
				t.Fatal(err)
			}
			got = append(got, piece...)
			eventually(t, "progress", func() bool { return on(t, c, c.Unsent) < before })
			if on(t, c, expire) {
				t.Fatal("the connection was reset though its peer reads")
			}
		}
		rest, err := io.ReadAll(peer)
		if err != nil || !bytes.Equal(append(got, rest...), want) {
			t.Fatalf("read %d bytes of %d, or others: %v", len(got)+len(rest), len(want), err)
		}
		if err := wait(t, "Closed", closed); err != nil {
			t.Errorf("Closed with %v", err)
		}
	})
}

func TestCloseGivesUpOnAPeerThatDoesNotRead(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.CloseTimeout = 10 * time.Millisecond
		g := start(t, cfg)
		closed := make(chan error, 1)
		c, _ := stalled(t, g, &script{closed: func(_ *Conn, err error) { closed <- err }}, make([]byte, 16<<20))
		on(t, c, func() bool { c.Close(); return true })
		if err := wait(t, "Closed", closed); err == nil {
			t.Error("Closed without an error")
		}
	})
}

// TestMoveQueue: a queue moves to another connection if none of its bytes has left. It does not move if a byte may have left.
func TestMoveQueue(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g := start(t, cfg)
		opened := make(chan *Conn, 2)
		to := listen(t, g, accept(func() *script { return &script{opened: func(c *Conn) { opened <- c }} }))
		connect(t, to)
		first := wait(t, "a connection", opened)
		peer := connect(t, to)
		second := wait(t, "a connection", opened)
		want := noise(4, 100_000)
		moved := on(t, first, func() [3]bool {
			first.Write(want)
			wrong := first.MoveQueue(second, len(want)-1)
			right := first.MoveQueue(second, len(want))
			first.Abort(nil)
			return [3]bool{wrong, right, first.Queued() == 0}
		})
		if moved != [3]bool{false, true, true} {
			t.Fatalf("another length, this length, nothing is left: %v", moved)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("other bytes arrive, or none: %v", err)
		}
		stuck, _ := stalled(t, g, &script{}, make([]byte, 16<<20))
		if on(t, stuck, func() bool { return stuck.MoveQueue(second, stuck.Queued()) }) {
			t.Error("a queue was moved though the system has some of it")
		}
	})
}

// TestMoveQueueAfterResponse: a queue does not move once the peer has responded to its bytes, even if the loop reads the response
// before the result of the write.
func TestMoveQueueAfterResponse(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g := start(t, cfg)
		request := noise(5, 1000)
		opened := make(chan *Conn, 1)
		moved := make(chan bool, 1)
		to := listen(t, g, accept(func() *script {
			return &script{
				opened: func(c *Conn) { opened <- c },
				data: func(c *Conn, p []byte) int {
					other := c.Loop().Dial(Addr{Unix: "/no/such/socket"}, 0, Base{})
					moved <- c.MoveQueue(other, len(request))
					other.Abort(nil)
					return len(p)
				},
			}
		}))
		peer := connect(t, to)
		c := wait(t, "a connection", opened)
		for round := range 50 {
			on(t, c, func() bool { c.Write(request); return true })
			if err := c.Loop().Post(func() { time.Sleep(time.Millisecond) }); err != nil { // so that both events arrive in one turn
				t.Fatal(err)
			}
			if _, err := io.ReadFull(peer, make([]byte, len(request))); err != nil {
				t.Fatal(err)
			}
			if _, err := peer.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if wait(t, "a response", moved) {
				t.Fatalf("round %d: bytes that the peer has were moved", round)
			}
		}
	})
}

// TestBlockedWriteShowsProgress: in the goroutine implementation, what a peer reads of a long write shows before it has read all of it.
// Otherwise a peer that reads slowly looks like one that does not read.
func TestBlockedWriteShowsProgress(t *testing.T) {
	t.Parallel()
	const size, piece = goroutineBuffer, 1000
	near, far := net.Pipe()
	defer far.Close()
	g := newGoroutineSockets(Config{})
	id := g.add(&goroutineSocket{conn: near})
	defer g.close(id, false)
	queue := &chunk{b: make([]byte, size)}
	write := func() int {
		n, err := g.write(id, queue)
		if err != nil && !errors.Is(err, ErrAgain) {
			t.Fatal(err)
		}
		queue.off += n
		return n
	}
	for range 5 {
		write()
		if _, err := io.ReadFull(far, make([]byte, piece)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the bytes that were read", func() bool {
			time.Sleep(time.Millisecond)
			return write() == piece
		})
	}
}
