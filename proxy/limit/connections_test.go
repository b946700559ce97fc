package limit_test

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/limit"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/traffic"
)

// TestConnections opens connections above each limit, through sockets. Refused ones are closed without a byte and counted;
// after a connection ends another one is admitted.
func TestConnections(t *testing.T) {
	for _, row := range []struct {
		name string
		cfg  limit.Config
		most int
		why  traffic.ConnRefusal
	}{
		{"all", limit.Config{Connections: 5}, 5, traffic.ConnectionLimit},
		{"default with a limit for all", limit.Config{Connections: 16}, 14, traffic.AddressLimit},
		{"address", limit.Config{ConnectionsPerAddress: 3}, 3, traffic.AddressLimit},
		{"address and all", limit.Config{ConnectionsPerAddress: 3, Connections: 4}, 3, traffic.AddressLimit},
		{"default", limit.Config{}, 88, traffic.AddressLimit},
	} {
		t.Run(row.name, func(t *testing.T) {
			proxytest.BothLoops(t, func(t *testing.T, lc loop.Config) {
				r := proxytest.NewRig(t, lc)
				counters := r.Metrics.Listener("test")
				limits := limit.NewConnections(limit.NewTotal(100))
				limits.Use(&row.cfg, counters)
				at, _ := loop.ParseAddr("127.0.0.1:0")
				ln, err := r.Group.ListenGated(at, limits, func(*loop.Conn) loop.Handler { return echo{} })
				if err != nil {
					t.Fatal(err)
				}
				var open []net.Conn
				for range row.most {
					c := dial(t, ln.Addr())
					if !served(c) {
						t.Fatalf("connection %d is refused", len(open)+1)
					}
					open = append(open, c)
				}
				for range 7 {
					if served(dial(t, ln.Addr())) {
						t.Fatal("a connection above the limit is served")
					}
				}
				open[0].Close()
				proxytest.Eventually(t, "the end of a connection", func() bool { n, _ := limits.Left(); return n == int64(row.most-1) })
				if !served(dial(t, ln.Addr())) {
					t.Error("after a connection ended, no other one is served")
				}
				stats := r.Metrics.Snapshot().Listeners[0]
				for why, n := range stats.RefusedConnections {
					if want := map[bool]uint64{true: 7}[why == row.why]; n != want {
						t.Errorf("%d connections refused as %s, want %d", n, why, want)
					}
				}
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				_ = r.Group.Shutdown(ended)
				if conns, networks := limits.Left(); conns != 0 || networks != 0 {
					t.Errorf("%d connections of %d networks are counted after the end", conns, networks)
				}
			})
		})
	}
}

// TestUseKeepsTheCount: a reload changes the limit, and open connections count for the new one.
func TestUseKeepsTheCount(t *testing.T) {
	r := proxytest.NewRig(t, loop.Config{Loops: 1})
	counters := r.Metrics.Listener("test")
	c := limit.NewConnections(limit.NewTotal(1000))
	c.Use(&limit.Config{ConnectionsPerAddress: 2}, counters)
	l, from := r.Group.Loops()[0], netip.MustParseAddr("192.0.2.1")
	var tickets []uint32
	admit := func(want bool) {
		t.Helper()
		ticket, admitted := c.Admit(l, from)
		if admitted != want {
			t.Fatalf("admitted is %v, want %v", admitted, want)
		}
		if admitted {
			tickets = append(tickets, ticket)
		}
	}
	admit(true)
	admit(true)
	admit(false)
	c.Use(&limit.Config{ConnectionsPerAddress: 3}, counters)
	admit(true)
	admit(false)
	c.Use(&limit.Config{ConnectionsPerAddress: -1}, counters)
	admit(true)
	c.Use(&limit.Config{ConnectionsPerAddress: 4}, counters)
	admit(true) // the connection that was admitted without a limit is not counted
	admit(false)
	for _, ticket := range tickets {
		c.Release(ticket)
	}
	if conns, networks := c.Left(); conns != 0 || networks != 0 {
		t.Errorf("%d connections of %d networks are left", conns, networks)
	}
	c.Use(&limit.Config{ConnectionsPerAddress: 1}, counters)
	if _, admitted := c.Admit(l, netip.Addr{}); !admitted {
		t.Error("a client of a Unix domain socket is refused")
	}
	if _, admitted := c.Admit(l, netip.Addr{}); !admitted {
		t.Error("a second client of a Unix domain socket is refused")
	}
}

// TestDefaultLeavesRoom: however many addresses take all connections that they can, a new address gets one.
func TestDefaultLeavesRoom(t *testing.T) {
	r := proxytest.NewRig(t, loop.Config{Loops: 1})
	l := r.Group.Loops()[0]
	total := limit.NewTotal(10_000)
	c := limit.NewConnections(total)
	c.Use(&limit.Config{}, r.Metrics.Listener("test"))
	other := limit.NewConnections(total) // the free connections are those of both listeners
	other.Use(&limit.Config{}, r.Metrics.Listener("other"))
	first := 0
	for attacker := range 50 {
		for {
			if _, admitted := c.Admit(l, netip.AddrFrom4([4]byte{10, 0, 0, byte(attacker)})); !admitted {
				break
			}
			if attacker == 0 {
				first++
			}
		}
	}
	if first < 8700 || first > 8800 {
		t.Errorf("the first address got %d connections, want seven eighths of 10000", first)
	}
	for _, listener := range []*limit.Connections{c, other} {
		if _, admitted := listener.Admit(l, netip.MustParseAddr("192.0.2.1")); !admitted {
			t.Error("a new address is refused")
		}
	}
}

// echo sends back what it receives.
type echo struct{ loop.Base }

func (echo) Data(c *loop.Conn, p []byte) int {
	c.Write(p)
	return len(p)
}

// dial returns nil if the connection was reset at once.
func dial(t *testing.T, to net.Addr) net.Conn {
	c, err := net.Dial("tcp", to.String())
	if err != nil {
		return nil
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// served reports whether the listener echoes a byte.
func served(c net.Conn) bool {
	if c == nil {
		return false
	}
	_ = c.SetDeadline(time.Now().Add(proxytest.Patience))
	_, _ = c.Write([]byte("a"))
	var p [1]byte
	_, err := io.ReadFull(c, p[:])
	return err == nil
}

func BenchmarkAdmit(b *testing.B) {
	r := proxytest.NewRig(b, loop.Config{Loops: 1})
	c := limit.NewConnections(limit.NewTotal(1 << 20))
	c.Use(&limit.Config{}, r.Metrics.Listener("test"))
	l := r.Group.Loops()[0]
	from := make([]netip.Addr, 1000)
	for i := range from {
		from[i] = netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ticket, _ := c.Admit(l, from[i%len(from)])
		c.Release(ticket)
	}
}
