package loop

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// placing is a Listener and its loops without sockets, for tests of place.
func placing(loops, maxConns int) *Listener {
	g := &Group{}
	for i := range loops {
		l := &Loop{index: i, cfg: Config{MaxConns: maxConns}}
		l.maxConns.Store(int64(maxConns))
		g.loops = append(g.loops, l)
	}
	return &Listener{group: g, loads: make([]load, loops)}
}

func (ln *Listener) loadsNow() []int64 {
	var all []int64
	for i := range ln.loads {
		all = append(all, ln.loads[i].conns.Load())
	}
	return all
}

// TestPlaceKeepsToTheShare: loops accept and close random connections. When only accepting, no load exceeds the share. The
// counts are those of a model at all times, and zero at the end.
func TestPlaceKeepsToTheShare(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		loops := 1 + rng.IntN(6)
		ln := placing(loops, 1+rng.IntN(300))
		var open []*Loop // the loop of each connection
		model := make([]int64, loops)
		closing := rng.IntN(2) == 0
		for range 1000 {
			if closing && len(open) > 0 && rng.IntN(3) == 0 {
				i := rng.IntN(len(open))
				ln.forget(open[i], 0)
				model[open[i].index]--
				open[i] = open[len(open)-1]
				open = open[:len(open)-1]
				continue
			}
			l := ln.group.loops[min(rng.IntN(loops), rng.IntN(loops))] // the system prefers some loops
			reserved := ln.reserve(l)
			if reserved == nil {
				if full := loops * l.cfg.MaxConns; len(open) != full {
					t.Fatalf("seed %d: refused although %d of %d connections are open", seed, len(open), full)
				}
				continue
			}
			to := ln.place(l, reserved)
			open = append(open, to)
			model[to.index]++
			if most := share(int64(len(open)), int64(loops)); !closing && model[to.index] > most && to == l {
				t.Fatalf("seed %d: loop %d kept its connection %d, its share is %d: %v", seed, to.index, model[to.index], most, model)
			}
			for i, l := range ln.group.loops {
				if loops > 1 && ln.loads[i].conns.Load() != model[i] || l.accepted.Load() != model[i] || model[i] > int64(l.cfg.MaxConns) {
					t.Fatalf("seed %d: loads %v, want %v", seed, ln.loadsNow(), model)
				}
			}
		}
		for _, l := range open {
			ln.forget(l, 0)
		}
		for i, l := range ln.group.loops {
			if ln.loads[i].conns.Load() != 0 || l.accepted.Load() != 0 || ln.conns.Load() != 0 {
				t.Fatalf("seed %d: loads %v after the last connection", seed, ln.loadsNow())
			}
		}
	}
}

// TestPlaceTogether: loops that accept at the same time, all from one of them or from all, place the connections evenly.
func TestPlaceTogether(t *testing.T) {
	const loops, each = 4, 7 // no tolerance up to 8 connections a loop
	for range 300 {
		ln := placing(loops, 1000)
		var all sync.WaitGroup
		for i := range loops {
			all.Go(func() {
				for range each {
					l := ln.group.loops[i/2]
					ln.place(l, ln.reserve(l))
				}
			})
		}
		all.Wait()
		for i := range ln.loads {
			if n := ln.loads[i].conns.Load(); n != each {
				t.Fatalf("loads %v, want %d each", ln.loadsNow(), each)
			}
		}
	}
}

// perLoop counts the open connections of each loop.
type perLoop struct {
	Base
	counts []atomic.Int64
}

func (h *perLoop) Opened(c *Conn) { h.counts[c.Loop().Index()].Add(1) }

func (h *perLoop) Data(c *Conn, p []byte) int {
	c.Write(p)
	return len(p)
}

func (h *perLoop) Closed(c *Conn, _ error) { h.counts[c.Loop().Index()].Add(-1) }

// TestFewConnectionsAreSpreadEvenly opens connections from several goroutines. Each loop gets as many as the others, and each
// connection is served by the loop that called the AcceptFunc.
func TestFewConnectionsAreSpreadEvenly(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		for _, kind := range []string{"tcp", "unix", "layer"} {
			t.Run(kind, func(t *testing.T) {
				if kind == "unix" && runtime.GOOS == "windows" {
					t.Skip("needs Unix: sockets of files behave otherwise on Windows")
				}
				cfg.Loops = 3
				g := start(t, cfg)
				h := &perLoop{counts: make([]atomic.Int64, cfg.Loops)}
				var foreign atomic.Int64
				accepted := func(c *Conn) Handler {
					if c.Loop().conn(c.id) != c {
						foreign.Add(1)
					}
					if kind == "layer" {
						c.SetLayer(&identityLayer{}, nil)
					}
					return h
				}
				at := loopback
				if kind == "unix" {
					at = Addr{Unix: filepath.Join(t.TempDir(), "s")}
				}
				ln, err := g.Listen(at, accepted)
				if err != nil {
					t.Fatal(err)
				}
				for round := range 5 {
					const each = 6
					conns := make([]net.Conn, cfg.Loops*each)
					var all sync.WaitGroup
					for i := range conns {
						all.Go(func() { conns[i] = roundTrip(t, ln.Addr()) })
					}
					all.Wait()
					for i := range h.counts {
						if n := h.counts[i].Load(); n != each {
							t.Errorf("round %d: %d connections on loop %d, want %d: %v", round, n, i, each, ln.loadsNow())
						}
					}
					for _, c := range conns {
						if c != nil {
							c.Close()
						}
					}
					eventually(t, "the end of all", func() bool { return ln.conns.Load() == 0 })
				}
				if foreign.Load() > 0 {
					t.Errorf("the AcceptFunc ran %d times on another loop than the connection's", foreign.Load())
				}
				if sum, _ := g.Stats(); sum.Accepted != sum.Closed || sum.Accepted != int64(5*6*cfg.Loops) {
					t.Errorf("%d connections accepted, %d closed, want %d", sum.Accepted, sum.Closed, 5*6*cfg.Loops)
				}
			})
		}
	})
}

// roundTrip connects and has a byte echoed, so that the connection has its loop.
func roundTrip(t *testing.T, at net.Addr) net.Conn {
	c, err := net.DialTimeout(at.Network(), at.String(), patience)
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { c.Close() })
	var p [1]byte
	if _, err := c.Write(p[:]); err != nil {
		t.Error(err)
	} else if _, err := io.ReadFull(c, p[:]); err != nil {
		t.Error(err)
	}
	return c
}

// TestFullLoopHandsOver: all loops together hold MaxConns connections each, whichever loops the system prefers.
func TestFullLoopHandsOver(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops, cfg.MaxConns = 2, 10
		g := start(t, cfg)
		h := &perLoop{counts: make([]atomic.Int64, cfg.Loops)}
		first, err := g.Listen(loopback, func(*Conn) Handler { return h })
		if err != nil {
			t.Fatal(err)
		}
		second, err := g.Listen(loopback, func(*Conn) Handler { return h })
		if err != nil {
			t.Fatal(err)
		}
		for i := range cfg.Loops * cfg.MaxConns {
			roundTrip(t, []net.Addr{first.Addr(), second.Addr()}[i%2])
		}
		for i := range h.counts {
			if n := h.counts[i].Load(); n != int64(cfg.MaxConns) {
				t.Errorf("%d connections on loop %d, want %d", n, i, cfg.MaxConns)
			}
		}
	})
}

// TestHandOverWhileShuttingDown: clients connect while a listener is closed and while the group shuts down. Each connection is
// served or closed, no AcceptFunc runs after Close, and the counts agree.
func TestHandOverWhileShuttingDown(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		for round := range 20 {
			cfg.Loops = 3
			g, err := New(&cfg)
			if err != nil {
				t.Fatal(err)
			}
			h := &perLoop{counts: make([]atomic.Int64, cfg.Loops)}
			var closed, late atomic.Int64
			ln, err := g.Listen(loopback, func(*Conn) Handler {
				late.Add(closed.Load())
				return h
			})
			if err != nil {
				t.Fatal(err)
			}
			stop := make(chan struct{})
			var clients sync.WaitGroup
			for range 4 {
				clients.Go(func() {
					for range 200 { // Close goes on while clients connect: see waitingRounds
						select {
						case <-stop:
							return
						default:
						}
						if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
							_, _ = c.Write([]byte("a"))
							defer c.Close()
						}
					}
				})
			}
			eventually(t, "a connection on each loop", func() bool {
				return h.counts[0].Load() > 0 && h.counts[1].Load() > 0 && h.counts[2].Load() > 0
			})
			if round%2 == 0 {
				_ = ln.Close()
				closed.Store(1)
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := g.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			close(stop)
			clients.Wait()
			sum, _ := g.Stats()
			if sum.Accepted != sum.Closed || sum.Conns != 0 || ln.conns.Load() != 0 || late.Load() != 0 {
				t.Fatalf("round %d: %+v: loads %v, %d calls after Close", round, sum, ln.loadsNow(), late.Load())
			}
			for i, l := range g.loops {
				if l.accepted.Load() != 0 || ln.loads[i].conns.Load() != 0 || h.counts[i].Load() != 0 {
					t.Errorf("round %d: loop %d counts %d connections at the end", round, i, l.accepted.Load())
				}
			}
		}
	})
}

// TestLoopThatEndedGetsNoConnection: a socket on its way to a loop that has ended is closed, and no loop counts it.
func TestLoopThatEndedGetsNoConnection(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g, other := start(t, cfg), start(t, cfg)
		ln, err := g.Listen(loopback, func(*Conn) Handler { return Base{} })
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		l, ended := g.Loops()[0], other.Loops()[0]
		ln.loads = make([]load, 2) // with a single loop nothing is counted
		ended.index = 1
		var client net.Conn
		l.do(func() { // no turn accepts the connection meanwhile
			var err error
			if client, err = net.Dial("tcp", ln.Addr().String()); err != nil {
				t.Error(err)
				return
			}
			for _, a := range l.acceptors {
				id, _, err := l.sys.accept(a.id)
				for end := time.Now().Add(patience); errors.Is(err, ErrAgain) && time.Now().Before(end); id, _, err = l.sys.accept(a.id) {
					runtime.Gosched()
				}
				if err != nil {
					t.Error(err)
					return
				}
				ended.accepted.Add(1)
				ln.conns.Add(1)
				ln.loads[1].conns.Add(1)
				l.handOver(id, ended, ln, netip.AddrPort{}, 0)
			}
			if ended.accepted.Load() != 0 || ln.conns.Load() != 0 || ln.loads[1].conns.Load() != 0 || l.stats.AcceptErrors != 1 || l.stats.HandedOver != 0 {
				t.Errorf("the loop that ended counts %d connections, the listener %v: %+v", ended.accepted.Load(), ln.loadsNow(), l.stats)
			}
		})
		if client == nil {
			return
		}
		defer client.Close()
		_ = client.SetDeadline(time.Now().Add(patience))
		if n, err := client.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the client read %d bytes: %v, want the end of the connection", n, err)
		}
	})
}

// TestClosedListenerFreesItsOrigin: origins are reused once their Listener is closed and has no connection.
func TestClosedListenerFreesItsOrigin(t *testing.T) {
	g := start(t, Config{Loops: 2})
	var held net.Conn
	for i := range 20 {
		h := &perLoop{counts: make([]atomic.Int64, 2)}
		ln, err := g.Listen(loopback, func(*Conn) Handler { return h })
		if err != nil {
			t.Fatal(err)
		}
		c := roundTrip(t, ln.Addr())
		if i == 0 {
			held = c
		} else {
			c.Close()
			eventually(t, "the end", func() bool { return ln.conns.Load() == 0 })
		}
		_ = ln.Close()
	}
	for i, l := range g.Loops() {
		l.do(func() {
			if len(l.origins) > 2 {
				t.Errorf("loop %d has %d origins, want at most 2", i, len(l.origins))
			}
		})
	}
	held.Close()
	eventually(t, "the end", func() bool { sum, _ := g.Stats(); return sum.Conns == 0 })
	for i, l := range g.Loops() {
		l.do(func() {
			for _, o := range l.origins {
				if o.listener != nil {
					t.Errorf("loop %d keeps a closed listener with %d connections", i, o.conns)
				}
			}
		})
	}
}
