package loop

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestPostsKeepTheirOrder(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Mailbox = 8
		g := start(t, cfg)
		l := g.Loops()[1]
		const each = 2000
		got := make(map[int][]int)
		var wg sync.WaitGroup
		for from := range 4 {
			wg.Go(func() {
				for i := range each {
					if err := l.PostWait(t.Context(), func() { got[from] = append(got[from], i) }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		l.do(func() {
			for from, list := range got {
				if len(list) != each || !slices.IsSorted(list) {
					t.Errorf("of poster %d %d functions ran, in order: %v", from, len(list), slices.IsSorted(list))
				}
			}
			if len(got) != 4 {
				t.Errorf("%d posters, want 4", len(got))
			}
		})
	})
}

func TestMailboxIsBounded(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Mailbox = 3
		g := start(t, cfg)
		l := g.Loops()[0]
		busy, goOn := make(chan struct{}), make(chan struct{})
		if err := l.Post(func() { close(busy); <-goOn }); err != nil {
			t.Fatal(err)
		}
		wait(t, "the first function", busy)
		ran := 0
		for range 3 {
			if err := l.Post(func() { ran++ }); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Post(func() { ran = -100 }); !errors.Is(err, ErrBusy) {
			t.Errorf("a fourth Post: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.PostWait(ctx, func() { ran = -100 }); !errors.Is(err, context.Canceled) {
			t.Errorf("PostWait after the mailbox was emptied: %v", err)
		}
		close(goOn)
		l.do(func() {
			if ran != 3 {
				t.Errorf("%d functions ran, want 3", ran)
			}
		})
		if err := g.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Post(func() {}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Post after Shutdown: %v", err)
		}
	})
}

// TestOneWriteATurn posts many small writes together. One system call writes all of them.
func TestOneWriteATurn(t *testing.T) {
	g := start(t, Config{Loops: 1})
	opened := make(chan *Conn, 1)
	to := listen(t, g, accept(func() *script { return &script{opened: func(c *Conn) { opened <- c }} }))
	conn := connect(t, to)
	c := wait(t, "Opened", opened)
	var want []byte
	c.loop.do(func() {
		for i := range 100 {
			p := noise(uint64(i), 200)
			want = append(want, p...)
			c.Write(p)
		}
	})
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("other bytes, or none: %v", err)
	}
	if sum, _ := g.Stats(); sum.Writes != 1 {
		t.Errorf("%d writes, want 1", sum.Writes)
	}
}

// TestBusyConnectionDoesNotStarveOthers serves one connection with many waiting bytes and several with a few. In each turn the
// busy connection gets at most its share.
func TestBusyConnectionDoesNotStarveOthers(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops, cfg.TurnBytes, cfg.ReadBuffer = 1, 4096, 2048
		g := start(t, cfg)
		var turn, inTurn, most, greedy int64
		done := make(chan struct{})
		to := listen(t, g, accept(func() *script {
			mine := 0
			return &script{data: func(c *Conn, p []byte) int {
				mine += len(p)
				if p[0] == 0 { // the busy connection sends zeros
					if now := c.loop.stats.Turns; now != turn {
						turn, inTurn = now, 0
					}
					inTurn += int64(len(p))
					greedy += int64(len(p))
					most = max(most, inTurn)
					if greedy == 1<<20 {
						close(done)
					}
				}
				return len(p)
			}}
		}))
		l := g.Loops()[0]
		busy, goOn := make(chan struct{}), make(chan struct{})
		conn := connect(t, to)
		if err := l.Post(func() { close(busy); <-goOn }); err != nil {
			t.Fatal(err)
		}
		wait(t, "the pause", busy)
		sent := make(chan error, 1)
		go func() {
			_, err := conn.Write(make([]byte, 1<<20))
			sent <- err
		}()
		close(goOn)
		wait(t, "the last byte", done)
		if err := wait(t, "the end of sending", sent); err != nil {
			t.Fatal(err)
		}
		l.do(func() {
			if most > int64(cfg.TurnBytes) || most == 0 {
				t.Errorf("one connection had %d bytes in one turn, want at most %d", most, cfg.TurnBytes)
			}
		})
	})
}

// TestCloseWithinCalls: during each kind of call, a handler closes its own connection and another connection of the same loop.
func TestCloseWithinCalls(t *testing.T) {
	calls := []string{"Opened", "Data", "HalfClosed", "Timer", "Closed", "Drained"}
	ends := map[string]func(*Conn){"Close": (*Conn).Close, "Abort": func(c *Conn) { c.Abort(nil) }, "CloseWrite": func(c *Conn) { c.CloseWrite(); c.Close() }}
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops, cfg.HighWater = 1, 1000
		for _, within := range calls {
			for name, end := range ends {
				t.Run(within+"/"+name, func(t *testing.T) {
					g := start(t, cfg)
					closed := make(chan *Conn, 10)
					victim := make(chan *Conn, 1)
					other := listen(t, g, accept(func() *script {
						return &script{opened: func(c *Conn) { victim <- c }, closed: func(c *Conn, _ error) { closed <- c }}
					}))
					bystander := connect(t, other)
					v := wait(t, "the other connection", victim)
					over := false
					do := func(call string, c *Conn) {
						if over {
							t.Errorf("%s came after Closed", call)
						}
						if call == within {
							end(c)
							end(v)
							c.Write([]byte("into the void"))
							c.PauseReading()
							c.ResumeReading()
							c.SetTimer(1, 0)
						}
					}
					to := listen(t, g, accept(func() *script {
						return &script{
							opened: func(c *Conn) { do("Opened", c); c.SetTimer(0, 0) },
							data: func(c *Conn, p []byte) int {
								do("Data", c)
								c.Write(make([]byte, 2000))
								return len(p)
							},
							drained: func(c *Conn) { do("Drained", c) },
							timer:   func(c *Conn, _ int) { do("Timer", c) },
							halfClosed: func(c *Conn) {
								do("HalfClosed", c)
								if within != "Timer" && within != "Drained" { // these calls follow later
									c.Close()
								}
							},
							closed: func(c *Conn, _ error) { do("Closed", c); over = true; closed <- c },
						}
					}))
					if conn, err := net.Dial("tcp", to.String()); err == nil { // it may be reset by now
						defer conn.Close()
						_, _ = conn.Write([]byte("data"))
						_ = conn.(*net.TCPConn).CloseWrite()
					}
					_, _ = bystander.Write([]byte("data of the other"))
					a, b := wait(t, "a Closed", closed), wait(t, "another Closed", closed)
					if a == b {
						t.Error("one connection was told twice that it is closed")
					}
					eventually(t, "no connection", func() bool {
						sum, _ := g.Stats()
						return sum.Conns == 0 && sum.Queues == 0 && sum.Unread == 0
					})
				})
			}
		}
	})
}

// TestClosedNumbersAreUsedAgain closes many connections in the same turn as their events, while new connections reuse their
// numbers. Every byte must arrive on the connection it was sent on.
func TestClosedNumbersAreUsedAgain(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g := start(t, cfg)
		var last *Conn
		var wrong atomic.Int64
		to := listen(t, g, accept(func() *script {
			id := -1
			return &script{
				data: func(c *Conn, p []byte) int {
					for _, b := range p {
						if id == -1 {
							id = int(b)
						}
						if int(b) != id {
							wrong.Add(1)
						}
					}
					if last != nil && last != c {
						last.Abort(nil)
					}
					last = c
					c.Write(p)
					return len(p)
				},
			}
		}))
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				for i := range 60 {
					conn, err := net.Dial("tcp", to.String())
					if err != nil {
						continue // reset before Dial returned
					}
					mark := byte(worker*60 + i)
					_ = conn.SetDeadline(time.Now().Add(patience))
					_, _ = conn.Write(bytes.Repeat([]byte{mark}, 10))
					var p [10]byte
					if n, _ := conn.Read(p[:]); n > 0 && p[0] != mark {
						wrong.Add(1)
					}
					conn.Close()
				}
			})
		}
		wg.Wait()
		if n := wrong.Load(); n > 0 {
			t.Errorf("%d bytes of other connections", n)
		}
		eventually(t, "no connection", func() bool {
			sum, _ := g.Stats()
			return sum.Conns == 0 && sum.Accepted == sum.Closed && sum.Queues == 0
		})
	})
}

func TestMaxConns(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops, cfg.MaxConns = 1, 3
		g := start(t, cfg)
		most := 0
		to := listen(t, g, func(c *Conn) Handler {
			most = max(most, int(c.loop.accepted.Load()))
			return echo()
		})
		for i := range 12 {
			conn := connect(t, to)
			defer conn.Close()
			if i%3 == 2 { // after as many connections as the limit allows
				if _, err := conn.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				var p [1]byte
				if _, err := io.ReadFull(conn, p[:]); err != nil {
					t.Fatalf("connection %d: %v", i, err)
				}
			}
			if i%3 == 2 {
				g.Loops()[0].do(func() {
					for _, c := range g.Loops()[0].conns {
						if c != nil {
							c.Close()
						}
					}
				})
			}
		}
		g.Loops()[0].do(func() {
			if most != 3 {
				t.Errorf("%d connections were open at most, want 3", most)
			}
		})
	})
}

func TestRefusedByTheAcceptFunc(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		to := listen(t, g, func(*Conn) Handler { return nil })
		conn, err := net.Dial("tcp", to.String())
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("the end was %v, want a reset", err)
		}
	})
}

// farewell writes a last message when the group shuts down.
type farewell struct {
	script
}

func (f *farewell) Shutdown(c *Conn) {
	c.Write([]byte("bye"))
	c.Close()
}

func TestShutdownUnderLoad(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		to := listen(t, g, func(*Conn) Handler { return &farewell{*echo()} })
		var wg sync.WaitGroup
		var ended atomic.Int64
		const clients = 50
		for range clients {
			conn := connect(t, to)
			wg.Go(func() {
				var got []byte
				p := make([]byte, 1000)
				for {
					_, werr := conn.Write([]byte("ping "))
					n, err := conn.Read(p)
					got = append(got, p[:n]...)
					if err != nil {
						// A reset may overtake the last message, because the client was still sending.
						if bytes.HasSuffix(got, []byte("bye")) || werr != nil || !errors.Is(err, io.EOF) {
							ended.Add(1)
						} else {
							t.Errorf("the connection ended with %q", got[max(0, len(got)-20):])
						}
						return
					}
				}
			})
		}
		eventually(t, "some traffic", func() bool {
			sum, _ := g.Stats()
			// The goroutine implementation may hold a connection that no loop has taken. It closes that connection without a
			// message.
			return sum.BytesIn > 1000 && (!cfg.Portable || sum.Accepted == clients)
		})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := g.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		wg.Wait()
		if n := ended.Load(); n != clients {
			t.Errorf("%d clients saw an end, want %d", n, clients)
		}
		if _, err := net.Dial("tcp", to.String()); err == nil {
			t.Error("the address is still listened on after Shutdown")
		}
		if _, err := g.Listen(loopback, accept(echo)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Listen after Shutdown: %v", err)
		}
		if sum, _ := g.Stats(); sum.Conns != 0 || !cfg.Portable && sum.Accepted < clients || sum.Closed != sum.Accepted {
			t.Errorf("%+v after Shutdown", sum)
		}
	})
}

// stays does not close its connection when the group shuts down.
type stays struct{ script }

func (*stays) Shutdown(*Conn) {}

func TestShutdownHasAnEnd(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		opened, closed := make(chan struct{}), make(chan error, 1)
		to := listen(t, g, func(*Conn) Handler {
			return &stays{script{opened: func(*Conn) { close(opened) }, closed: func(_ *Conn, err error) { closed <- err }}}
		})
		connect(t, to)
		wait(t, "Opened", opened)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := g.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if err := wait(t, "Closed", closed); !errors.Is(err, ErrShutdown) {
			t.Errorf("Closed with %v", err)
		}
	})
}

// TestCloseTimeout closes a connection whose peer does not read.
func TestCloseTimeout(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.CloseTimeout = 50 * time.Millisecond
		g := start(t, cfg)
		closed := make(chan error, 1)
		to := listen(t, g, accept(func() *script {
			return &script{
				opened: func(c *Conn) { c.Write(make([]byte, 32<<20)); c.Close() },
				closed: func(_ *Conn, err error) { closed <- err },
			}
		}))
		if conn, err := net.Dial("tcp", to.String()); err == nil {
			defer conn.Close()
			_ = conn.(*net.TCPConn).SetReadBuffer(256 << 10) // see connectSlow; it may be reset by now
		}
		if err := wait(t, "Closed", closed); err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Closed with %v", err)
		}
	})
}

func TestNothingIsLeftBehind(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		eventually(t, "an end of earlier tests' goroutines", func() bool { return runtime.NumGoroutine() < 10 })
		goroutines, fds := runtime.NumGoroutine(), openDescriptors(t)
		for range 3 {
			g, err := New(&cfg)
			if err != nil {
				t.Fatal(err)
			}
			ln, err := g.Listen(loopback, accept(echo))
			if err != nil {
				t.Fatal(err)
			}
			to := ln.Addr().String()
			for i := range 20 {
				conn, err := net.Dial("tcp", to)
				if err != nil {
					t.Fatal(err)
				}
				if i%2 == 0 {
					_, _ = conn.Write(make([]byte, 100_000))
				}
				defer conn.Close()
			}
			l := g.Loops()[0]
			for range 5 {
				_ = l.Post(func() { l.Dial(refusing(t), 0, Base{}) })
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if err := g.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			cancel()
		}
		eventually(t, "an end of all goroutines", func() bool { return runtime.NumGoroutine() <= goroutines })
		// The clients' ends are still open: 20 in each of 3 rounds.
		eventually(t, "an end of all descriptors", func() bool { return openDescriptors(t) <= fds+60 })
	})
}

// TestTurn checks that Group.Turn waits for a loop that is busy, until the context ends, and not for loops that have ended.
func TestTurn(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		if err := g.Turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		busy, goOn := make(chan struct{}), make(chan struct{})
		if err := g.Loops()[1].Post(func() { close(busy); <-goOn }); err != nil {
			t.Fatal(err)
		}
		wait(t, "the function", busy)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := g.Turn(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Turn with a busy loop: %v", err)
		}
		close(goOn)
		if err := g.Turn(t.Context()); err != nil {
			t.Error(err)
		}
		if err := g.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := g.Turn(t.Context()); err != nil {
			t.Errorf("Turn after Shutdown: %v", err)
		}
	})
}

// TestQueue reads the queue of a connection: all bytes written in the turn, in order.
func TestQueue(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		queued := make(chan []byte, 1)
		want := noise(1, 50_000)
		to := listen(t, g, accept(func() *script {
			return &script{opened: func(c *Conn) {
				c.Write(want[:100])
				c.Write(want[100:])
				c.queue.head.off += 10 // the system has accepted 10 bytes
				var got []byte
				for piece := range c.Queue() {
					got = append(got, piece...)
				}
				c.queue.head.off -= 10
				queued <- got
			}}
		}))
		connect(t, to)
		if got := wait(t, "the queue", queued); !bytes.Equal(got, want[10:]) {
			t.Errorf("%d bytes in the queue, want the last %d", len(got), len(want)-10)
		}
	})
}
