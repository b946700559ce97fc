package loop

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAddressesWhileConnecting asks for the addresses of a connection until it has them. The race detector sees the rest.
func TestAddressesWhileConnecting(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g := start(t, cfg)
		to := listen(t, g, accept(echo))
		l := g.Loops()[0]
		known := make(chan string, 1)
		if err := l.Post(func() {
			c := l.Dial(to, time.Minute, Base{})
			for end := time.Now().Add(time.Minute); c.RemoteAddr() == nil && time.Now().Before(end); {
				runtime.Gosched()
			}
			known <- fmt.Sprint(c.RemoteAddr())
		}); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, "a connection", known); got != to.String() {
			t.Errorf("the address is %s, want %s", got, to)
		}
	})
}

func TestDialFails(t *testing.T) {
	// A listener with a full queue does not answer: connecting to it takes until the timeout.
	silent := fullListener(t)
	refused := refusing(t)
	rows := []struct {
		name string
		to   Addr
		want func(error) bool
	}{
		{"refused", refused, func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
		{"timeout", silent, func(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }},
		{"no such file", Addr{Unix: "no/such/socket"}, func(err error) bool { return errors.Is(err, os.ErrNotExist) }},
		// The system itself refuses to connect to a broadcast address, at once: there is no route to it.
		{"unroutable", Addr{TCP: netip.MustParseAddrPort("255.255.255.255:9")}, func(err error) bool { return !errors.Is(err, os.ErrDeadlineExceeded) }},
	}
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				closed := make(chan error, 1)
				h := &script{
					opened: func(*Conn) { t.Error("Opened was called") },
					closed: func(_ *Conn, err error) { closed <- err },
				}
				if err := g.Loops()[0].Post(func() {
					c := g.Loops()[0].Dial(row.to, 200*time.Millisecond, h)
					c.Write([]byte("lost"))
					select {
					case <-closed:
						t.Error("Closed was called by Dial itself")
					default:
					}
				}); err != nil {
					t.Fatal(err)
				}
				if err := wait(t, "Closed", closed); err == nil || !row.want(err) || !strings.HasPrefix(err.Error(), "loop: connect") {
					t.Errorf("Closed with %v", err)
				}
			})
		}
		if sum, _ := g.Stats(); sum.Conns != 0 || sum.Queues != 0 || sum.Dialed != int64(len(rows)) {
			t.Errorf("%+v: want nothing left of %d attempts", sum, len(rows))
		}
	})
}

// refusing returns an address without a listener.
func refusing(t *testing.T) Addr {
	nl, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer nl.Close()
	return Addr{TCP: nl.Addr().(*net.TCPAddr).AddrPort()}
}

func TestCloseWhileConnecting(t *testing.T) {
	silent := fullListener(t)
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		closed := make(chan error, 1)
		l := g.Loops()[0]
		if err := l.Post(func() {
			l.Dial(silent, patience, &script{closed: func(_ *Conn, err error) { closed <- err }}).Close()
		}); err != nil {
			t.Fatal(err)
		}
		if err := wait(t, "Closed", closed); err != nil {
			t.Errorf("Closed with %v", err)
		}
	})
}

// TestRelay connects each accepted connection with a connection dialled for it on the same loop. The slower side pauses the
// other.
func TestRelay(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.HighWater = 32 << 10
		g := start(t, cfg)
		to := listen(t, g, accept(echo))
		via := listen(t, g, func(down *Conn) Handler {
			up := &relay{to: down}
			here := &relay{}
			here.to = down.Loop().Dial(to, patience, up)
			return here
		})
		conn := connect(t, via)
		want := noise(4, 3<<20)
		go func() {
			_, _ = conn.Write(want)
			_ = conn.(*net.TCPConn).CloseWrite()
		}()
		var got bytes.Buffer
		if _, err := got.ReadFrom(conn); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("%d bytes came back of %d, or others: %v", got.Len(), len(want), err)
		}
		eventually(t, "the end of all connections", func() bool {
			sum, _ := g.Stats()
			return sum.Conns == 0 && sum.Queues == 0 && sum.Closed == 3
		})
	})
}

// relay forwards received bytes to the other side.
type relay struct {
	Base
	to *Conn
}

func (r *relay) Data(c *Conn, p []byte) int {
	r.to.Write(p)
	if r.to.Full() {
		c.PauseReading()
	}
	return len(p)
}
func (r *relay) Drained(*Conn)    { r.to.ResumeReading() }
func (r *relay) HalfClosed(*Conn) { r.to.CloseWrite() }
func (r *relay) Closed(_ *Conn, err error) {
	if err != nil {
		r.to.Abort(err)
	}
}

func TestAddresses(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		g := start(t, cfg)
		type ends struct{ local, remote net.Addr }
		got, gone := make(chan ends, 1), make(chan ends, 1)
		to := listen(t, g, accept(func() *script {
			return &script{
				opened: func(c *Conn) { got <- ends{c.LocalAddr(), c.RemoteAddr()} },
				closed: func(c *Conn, _ error) { gone <- ends{c.LocalAddr(), c.RemoteAddr()} },
			}
		}))
		conn := connect(t, to)
		e := wait(t, "Opened", got)
		if e.local.String() != conn.RemoteAddr().String() || e.remote.String() != conn.LocalAddr().String() {
			t.Errorf("%v, want %v and %v", e, conn.RemoteAddr(), conn.LocalAddr())
		}
		conn.Close()
		if e := wait(t, "Closed", gone); e.local != nil || e.remote != nil {
			t.Errorf("addresses of a closed connection: %v", e)
		}
	})
}

func TestParseAddr(t *testing.T) {
	rows := []struct{ in, want, err string }{
		{in: "127.0.0.1:80", want: "127.0.0.1:80"},
		{in: "[::1]:80", want: "[::1]:80"},
		{in: "unix:/run/a.sock", want: "unix:/run/a.sock"},
		{in: "unix:", err: "has no path"},
		{in: "localhost:80", err: "neither IP:PORT nor unix:PATH"},
		{in: "127.0.0.1", err: "neither IP:PORT nor unix:PATH"},
		{in: "127.0.0.1:65536", err: "neither IP:PORT nor unix:PATH"},
	}
	for _, row := range rows {
		got, err := ParseAddr(row.in)
		switch {
		case row.err == "" && (err != nil || got.String() != row.want):
			t.Errorf("%q: %v, %v, want %s", row.in, got, err, row.want)
		case row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)):
			t.Errorf("%q: %v, want an error with %q", row.in, err, row.err)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	rows := []struct {
		cfg  Config
		want string
	}{
		{Config{Loops: -1}, "Loops is -1"},
		{Config{ReadBuffer: 100}, "ReadBuffer is 100: give at least 512"},
		{Config{HighWater: 1000, LowWater: 2000}, "LowWater 2000 is not below HighWater 1000"},
		{Config{CloseTimeout: -1}, "CloseTimeout"},
		{Config{KeepAlive: 10 * time.Hour}, "KeepAlive is 10h0m0s"},
	}
	for _, row := range rows {
		if _, err := New(&row.cfg); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: %v, want an error with %q", row.cfg, err, row.want)
		}
	}
	cfg, err := (*Config)(nil).withDefaults()
	if err != nil || cfg.Loops != runtime.GOMAXPROCS(0) || cfg.LowWater != 64<<10 {
		t.Errorf("defaults: %+v, %v", cfg, err)
	}
}
