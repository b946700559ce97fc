package loop

import (
	"io"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestFullLoopLeavesClientsToOthers: two loops share a listener. As many connections as both loops accept are opened again and
// again. Each client must be served, even if one loop is full.
func TestFullLoopLeavesClientsToOthers(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		if runtime.GOOS == "windows" {
			t.Skip("needs Unix: sockets of files behave otherwise on Windows")
		}
		cfg.MaxConns = 2
		g := start(t, cfg)
		path := filepath.Join(t.TempDir(), "s")
		if _, err := g.Listen(Addr{Unix: path}, accept(echo)); err != nil {
			t.Fatal(err)
		}
		var open []net.Conn
		for round := range 30 {
			for len(open) < cfg.Loops*cfg.MaxConns {
				conn, err := net.Dial("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				open = append(open, conn)
			}
			for i, conn := range open {
				if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
					t.Fatal(err)
				}
				var p [1]byte
				if _, err := conn.Write(p[:]); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(conn, p[:]); err != nil {
					sum, each := g.Stats()
					t.Fatalf("round %d: client %d is not served: %v; %d connections: %+v", round, i, err, sum.Conns, each)
				}
			}
			// The next round's clients connect when the loops have room again: room for all of one loop's connections, or for
			// one each.
			drop := 1 + round%len(open)
			for _, conn := range open[:drop] {
				conn.Close()
			}
			open = append([]net.Conn(nil), open[drop:]...)
			eventually(t, "room", func() bool { sum, _ := g.Stats(); return sum.Conns == len(open) })
		}
	})
}

// TestDefaultMaxConns: without a configured limit, accepted connections leave descriptors for everything else.
func TestDefaultMaxConns(t *testing.T) {
	rows := []struct{ descriptors, want int }{
		{0, 1<<31 - 1}, {-1, 1<<31 - 1}, {1, 1}, {64, 1}, {100, 36}, {512, 448}, {1024, 896}, {20_000, 17_500}, {1 << 20, 7 << 17}, {1<<31 - 1, 1<<31 - 1<<28},
	}
	for _, row := range rows {
		if got := acceptLimit(row.descriptors); got != row.want {
			t.Errorf("with %d descriptors %d connections are accepted, want %d", row.descriptors, got, row.want)
		}
	}
	for loops := range 5 {
		cfg, err := (&Config{Loops: loops}).withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if most := DefaultMaxConns(); cfg.MaxConns*cfg.Loops > most || cfg.MaxConns < most/cfg.Loops {
			t.Errorf("%d loops accept %d connections each, want the share of %d", cfg.Loops, cfg.MaxConns, most)
		}
	}
}
