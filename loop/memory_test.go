package loop

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/internal/bufpool"
)

// TestCrowdedLoop: once the queues of many connections exceed QueueMemory together, each one is full at 8 KiB and drained at 2
// KiB. When the others are closed, queues may be long again.
func TestCrowdedLoop(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops, cfg.QueueMemory = 1, 200_000
		g := start(t, cfg)
		l := g.Loops()[0]
		conns := make(chan *Conn, 4)
		drained := make(chan int, 1)
		to := listen(t, g, func(*Conn) Handler {
			return &script{opened: func(c *Conn) { conns <- c }, drained: func(c *Conn) { drained <- c.Queued() }}
		})
		var all []*Conn
		var clients []net.Conn
		for range 3 {
			clients = append(clients, connect(t, to))
			all = append(all, wait(t, "a connection", conns))
		}
		l.do(func() { // nothing leaves the queues before the end of the turn
			all[0].Write(make([]byte, 100_000))
			all[1].Write(make([]byte, 9000))
			if all[0].Full() || all[1].Full() {
				t.Error("a queue is full before the loop is crowded")
			}
			all[0].Write(make([]byte, 100_000))
			all[1].Write(make([]byte, 1))
			all[2].Write(make([]byte, 8000))
			if !all[0].Full() || !all[1].Full() || all[2].Full() {
				t.Errorf("full is %v, %v and %v, want true, true and false", all[0].Full(), all[1].Full(), all[2].Full())
			}
			all[0].Abort(nil)
		})
		if _, err := io.ReadFull(clients[1], make([]byte, 9001)); err != nil {
			t.Fatal(err)
		}
		if n := wait(t, "Drained", drained); n > 2048 {
			t.Errorf("Drained with %d bytes queued", n)
		}
		l.do(func() {
			all[1].Write(make([]byte, 100_000))
			if all[1].Full() {
				t.Error("a queue is full although the loop is not crowded")
			}
			l.SetQueueMemory(1)
			all[2].Write(make([]byte, 9000))
			if !all[2].Full() {
				t.Error("SetQueueMemory has no effect")
			}
		})
	})
}

// TestCrowdedLoopResetsUnread: while the loop is crowded, an accepted connection that leaves more than 16 KiB unread is reset, a
// dialled one is not. Reads are short.
func TestCrowdedLoopResetsUnread(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops, cfg.QueueMemory = 1, 1
		g := start(t, cfg)
		longest, ignored := 0, 0 // nothing is unread at the first read of the dialled connection: it is long
		ended := make(chan error, 2)
		leaves := func(longest *int) *script {
			last := 0
			return &script{
				data: func(_ *Conn, p []byte) int {
					*longest = max(*longest, len(p)-last)
					last = len(p)
					return 0
				},
				closed: func(_ *Conn, err error) { ended <- err },
			}
		}
		to := listen(t, g, func(*Conn) Handler { return leaves(&longest) })
		server, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		g.Loops()[0].do(func() { g.Loops()[0].Dial(Addr{TCP: server.Addr().(*net.TCPAddr).AddrPort()}, 0, leaves(&ignored)) })
		dialled, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer dialled.Close()
		if _, err := dialled.Write(make([]byte, 100_000)); err != nil {
			t.Fatal(err)
		}
		l := g.Loops()[0]
		eventually(t, "all of the dialled connection's bytes", func() bool {
			n := 0
			l.do(func() {
				for c := range l.All() {
					n = len(c.Unread())
				}
			})
			return n == 100_000
		})
		accepted := connect(t, to)
		_, _ = accepted.Write(make([]byte, 100_000))
		if err := wait(t, "the end of the accepted connection", ended); err == nil || !strings.Contains(err.Error(), "crowded") {
			t.Errorf("ended with %v", err)
		}
		sum, _ := g.Stats()
		if sum.Crowded != 1 || sum.Conns != 1 || longest > crowdedQueue {
			t.Errorf("%d connections reset, %d left, reads of up to %d bytes", sum.Crowded, sum.Conns, longest)
		}
	})
}

// TestLoopMemoryReturnsToZero: after random conversations no memory is counted.
func TestLoopMemoryReturnsToZero(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g := start(t, cfg)
		to := listen(t, g, accept(echo))
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				c := connect(t, to)
				p := make([]byte, 50_000)
				_, _ = c.Write(p)
				if i%2 == 0 {
					_, _ = io.ReadFull(c, p)
				}
				c.Close()
			})
		}
		all.Wait()
		l := g.Loops()[0]
		eventually(t, "the end of all", func() bool { sum, _ := g.Stats(); return sum.Conns == 0 })
		l.do(func() {
			if l.memory() != 0 {
				t.Errorf("%d bytes of queues and %d unread ones are counted at the end", l.free.bytes, l.unreadBytes)
			}
		})
	})
}

// TestHeldMemoryCounts: shared bytes and the bytes that handlers hold crowd a loop as the queues do.
func TestHeldMemoryCounts(t *testing.T) {
	g := start(t, Config{Loops: 1, QueueMemory: 10_000})
	l := g.Loops()[0]
	l.do(func() {
		c := l.Dial(loopback, 0, Base{})
		b := bufpool.Get(9000)
		c.WriteShared(b, b.B[:9000])
		b.Release()
		if l.Crowded() {
			t.Error("crowded below QueueMemory")
		}
		c.Hold(1001)
		if !c.Crowded() {
			t.Error("not crowded above QueueMemory")
		}
		c.Hold(-1001)
		c.Abort(nil)
	})
	eventually(t, "the end", func() bool { sum, _ := g.Stats(); return sum.Conns == 0 })
	l.do(func() {
		if n := l.memory(); n != 0 {
			t.Errorf("%d bytes are counted at the end", n)
		}
	})
}

// TestTimerDeadline: a timer's deadline is not before its time, and at most a tick after it.
func TestTimerDeadline(t *testing.T) {
	g := start(t, Config{Loops: 1})
	l := g.Loops()[0]
	l.do(func() {
		c := l.Dial(loopback, 0, Base{})
		if at, set := c.TimerDeadline(2); set {
			t.Errorf("a timer that is not set expires at %v", at)
		}
		for _, d := range []time.Duration{0, time.Millisecond, time.Second, 300 * 24 * time.Hour, 1<<63 - 1} {
			c.SetTimer(2, d)
			at, set := c.TimerDeadline(2)
			early := at < l.now+d && l.now+d > 0
			if late := at-l.now-d > 12*time.Minute; !set || early || late {
				t.Errorf("after %v: set is %v, expires at %v, now is %v", d, set, at, l.now)
			}
		}
		c.StopTimer(2)
		if _, set := c.TimerDeadline(2); set {
			t.Error("a stopped timer is set")
		}
		c.Abort(nil)
	})
}
