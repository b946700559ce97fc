package loop

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"testing"
)

// BenchmarkRelay sends a message of 1 KB through a relay to an echo server and back, over 64 connections in turn.
func BenchmarkRelay(b *testing.B) {
	for _, kind := range []struct {
		name     string
		portable bool
	}{{"system", false}, {"goroutines", true}} {
		b.Run(kind.name, func(b *testing.B) {
			g, err := New(&Config{Loops: 1, Portable: kind.portable})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Shutdown(b.Context())
			up, err := g.Listen(loopback, accept(echo))
			if err != nil {
				b.Fatal(err)
			}
			to := Addr{TCP: up.Addr().(*net.TCPAddr).AddrPort()}
			down, err := g.Listen(loopback, func(c *Conn) Handler {
				return &relay{to: c.Loop().Dial(to, patience, &relay{to: c})}
			})
			if err != nil {
				b.Fatal(err)
			}
			conns := make([]net.Conn, 64)
			for i := range conns {
				if conns[i], err = net.Dial("tcp", down.Addr().String()); err != nil {
					b.Fatal(err)
				}
				defer conns[i].Close()
			}
			p := make([]byte, 1024)
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				conn := conns[i%len(conns)]
				if _, err := conn.Write(p); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(conn, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAccept opens and closes connections. With two loops some are handed over; hands says how many of each connection.
func BenchmarkAccept(b *testing.B) {
	for _, loops := range []int{1, 2} {
		b.Run(fmt.Sprint(loops), func(b *testing.B) {
			g, err := New(&Config{Loops: loops})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Shutdown(b.Context())
			ln, err := g.Listen(loopback, func(*Conn) Handler { return Base{} })
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c, err := net.Dial("tcp", ln.Addr().String())
					if err != nil {
						b.Error(err)
						return
					}
					_ = c.(*net.TCPConn).SetLinger(0)
					_ = c.Close()
				}
			})
			sum, _ := g.Stats()
			b.ReportMetric(float64(sum.HandedOver)/float64(b.N), "hands/op")
		})
	}
}

// TestIdleConnectionsAreSmall measures the heap of 1500 idle connections that have transferred data. Each needs a Conn and an
// entry in the loop's table.
func TestIdleConnectionsAreSmall(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: elsewhere a process may not open the 3000 descriptors it takes")
	}
	const conns = 1500
	g := start(t, Config{Loops: 1})
	shared := echo() // one handler for all, so that only what the package itself keeps is counted
	to := listen(t, g, func(*Conn) Handler { return shared })
	clients := make([]*net.TCPConn, 0, conns)
	for range conns {
		// The client allocates as little as possible. Its memory is the same in both measurements.
		clients = append(clients, connectQuietly(t, to))
	}
	var p [100]byte
	for _, conn := range clients {
		if _, err := conn.Write(p[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, p[:]); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() int64 {
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	l := g.Loops()[0]
	with := heap()
	l.do(func() {
		for _, c := range l.conns {
			if c != nil {
				c.Abort(nil)
			}
		}
	})
	eventually(t, "an end of all", func() bool { sum, _ := g.Stats(); return sum.Conns == 0 })
	l.do(func() { l.conns, l.ended, l.spareEnded = nil, nil, nil })
	without := heap()
	if each := (with - without) / conns; each > 200 || each < 100 {
		t.Errorf("%d bytes of heap for each idle connection, want at most 200", each)
	} else {
		t.Logf("%d bytes of heap for each idle connection", each)
	}
	runtime.KeepAlive(clients)
}

func connectQuietly(t *testing.T, to Addr) *net.TCPConn {
	conn, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(to.TCP))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
