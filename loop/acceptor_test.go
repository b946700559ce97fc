package loop

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// unwatched implements sockets that fail to watch an accepted connection.
type unwatched struct{ sockets }

func (unwatched) watch(int32, uint32, bool) error { return errors.New("no memory") }

// countingHandler counts Opened and Closed.
type countingHandler struct {
	Base
	opened, closed atomic.Int64
}

func (h *countingHandler) Opened(*Conn)        { h.opened.Add(1) }
func (h *countingHandler) Closed(*Conn, error) { h.closed.Add(1) }

// TestAcceptedButNotWatched: if a connection cannot be watched, its handler still gets as many calls of Opened as of Closed.
func TestAcceptedButNotWatched(t *testing.T) {
	for _, portable := range []bool{false, true} {
		g, err := New(&Config{Loops: 1, Portable: portable})
		if err != nil {
			t.Fatal(err)
		}
		h := &countingHandler{}
		l := g.Loops()[0]
		l.do(func() { l.sys = unwatched{l.sys} })
		ln, err := g.Listen(Addr{TCP: netip.MustParseAddrPort("127.0.0.1:0")}, func(*Conn) Handler { return h })
		if err != nil {
			t.Fatal(err)
		}
		if c, err := net.Dial("tcp", ln.Addr().String()); err == nil { // on an error, the connection was already reset
			_, _ = c.Read(make([]byte, 1))
			_ = c.Close()
		}
		if sum, _ := g.Stats(); sum.Accepted != 1 {
			t.Errorf("portable %v: %d connections were accepted, want 1", portable, sum.Accepted)
		}
		if err := g.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if o, c := h.opened.Load(), h.closed.Load(); o != c {
			t.Errorf("portable %v: opened %d times and closed %d times", portable, o, c)
		}
	}
}

// TestCloseAcceptsWhatWaits: connections that wait at a socket when it is closed are accepted, all of them.
func TestCloseAcceptsWhatWaits(t *testing.T) {
	const clients = 400
	for _, portable := range []bool{false, true} {
		g, err := New(&Config{Loops: 2, Portable: portable})
		if err != nil {
			t.Fatal(err)
		}
		h := &countingHandler{}
		ln, err := g.Listen(Addr{TCP: netip.MustParseAddrPort("127.0.0.1:0")}, func(*Conn) Handler { return h })
		if err != nil {
			t.Fatal(err)
		}
		blocked, begin := make(chan struct{}), make(chan struct{})
		for _, l := range g.Loops() {
			if err := l.Post(func() { blocked <- struct{}{}; <-begin }); err != nil {
				t.Fatal(err)
			}
			<-blocked
		}
		var conns []net.Conn
		for range clients {
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
		}
		closed := make(chan error)
		go func() { closed <- ln.Close() }()
		close(begin)
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		if sum, _ := g.Stats(); sum.Accepted != clients {
			t.Errorf("portable %v: %d connections were accepted, want %d", portable, sum.Accepted, clients)
		}
		for _, c := range conns {
			_ = c.Close()
		}
		if err := g.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// lateListener begins its first Accept after the deadline of finish, as on a machine that stops for a moment.
type lateListener struct {
	*net.TCPListener
	once sync.Once
}

func (l *lateListener) Accept() (net.Conn, error) {
	l.once.Do(func() { time.Sleep(2 * finishTime) })
	return l.TCPListener.Accept()
}

// TestFinishOnASlowMachine: a deadline that has passed before Accept began does not say that no connection waits.
func TestFinishOnASlowMachine(t *testing.T) {
	tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	const clients = 3
	for range clients {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	q := newAcceptQueue(&lateListener{TCPListener: tcp})
	s := &goroutineSocket{owner: newGoroutineSockets(Config{})}
	q.join(s)
	defer q.leave(s)
	q.finish()
	accepted := 0
	for late := time.Now().Add(time.Minute); !q.empty(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the queue does not finish")
		}
		if c, err := q.take(); err == nil {
			accepted++
			_ = c.Close()
		}
	}
	if accepted != clients {
		t.Errorf("%d connections were accepted, want %d", accepted, clients)
	}
}
