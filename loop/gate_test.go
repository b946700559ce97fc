package loop

import (
	"context"
	"errors"
	"io"
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

// turnstile admits every other connection, and gives each a ticket of its own.
type turnstile struct {
	mu      sync.Mutex
	next    uint32
	open    map[uint32]bool
	from    map[netip.Addr]int
	refused int64
	wrong   []uint32 // tickets that were released and not open
}

func (g *turnstile) Admit(_ *Loop, from netip.Addr) (ticket uint32, admitted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.from[from]++
	if g.next++; g.next%2 == 0 {
		g.refused++
		return 0, false
	}
	g.open[g.next] = true
	return g.next, true
}

func (g *turnstile) Release(ticket uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open[ticket] {
		g.wrong = append(g.wrong, ticket)
	}
	delete(g.open, ticket)
}

// TestGate: a refused connection is reset and its AcceptFunc is not called. Each ticket is released once, however its
// connection ends: by the client, by the handler, without a handler, or at the end of the group.
func TestGate(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		for _, kind := range []string{"tcp", "tcp6", "unix"} {
			t.Run(kind, func(t *testing.T) {
				at, want := loopback, netip.MustParseAddr("127.0.0.1")
				switch kind {
				case "unix":
					if runtime.GOOS == "windows" {
						t.Skip("needs Unix: sockets of files behave otherwise on Windows")
					}
					at, want = Addr{Unix: filepath.Join(t.TempDir(), "s")}, netip.Addr{}
				case "tcp6":
					// An IPv4 client of a socket for both versions has its IPv4 address.
					at = Addr{TCP: netip.MustParseAddrPort("[::]:0")}
				}
				g := start(t, cfg)
				gate := &turnstile{open: map[uint32]bool{}, from: map[netip.Addr]int{}}
				var accepted atomic.Int64
				ln, err := g.ListenGated(at, gate, func(*Conn) Handler {
					switch accepted.Add(1) % 3 {
					case 0:
						return nil
					case 1:
						return &script{opened: func(c *Conn) { c.Close() }}
					}
					return echo()
				})
				if err != nil {
					t.Fatal(err)
				}
				to := ln.Addr()
				if kind == "tcp6" {
					to = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: ln.Addr().(*net.TCPAddr).Port}
				}
				const conns = 60
				var all sync.WaitGroup
				for i := range conns {
					all.Go(func() {
						c, err := net.Dial(to.Network(), to.String())
						if err != nil {
							return // reset at once
						}
						_ = c.SetDeadline(time.Now().Add(patience))
						_, _ = c.Write([]byte("a"))
						var p [1]byte
						_, err = io.ReadFull(c, p[:])
						if errors.Is(err, os.ErrDeadlineExceeded) {
							t.Error("a connection was neither served nor closed")
						}
						if i%2 == 0 {
							c.Close() // otherwise open until the group ends
						} else {
							t.Cleanup(func() { c.Close() })
						}
					})
				}
				all.Wait()
				eventually(t, "all connections", func() bool {
					sum, _ := g.Stats()
					return sum.Accepted+sum.Refused == conns
				})
				_ = ln.Close()
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = g.Shutdown(ctx) // resets the connections that are still open
				sum, _ := g.Stats()
				if sum.Refused != gate.refused || sum.Refused != conns/2 || accepted.Load() != conns/2 {
					t.Errorf("%d refused, %d accepted, want %d each: %+v", sum.Refused, accepted.Load(), conns/2, sum)
				}
				if len(gate.open) > 0 || len(gate.wrong) > 0 {
					t.Errorf("%d tickets are not released, %d were released twice", len(gate.open), len(gate.wrong))
				}
				if len(gate.from) != 1 || gate.from[want] != conns {
					t.Errorf("clients %v, want %d of %v", gate.from, conns, want)
				}
			})
		}
	})
}
