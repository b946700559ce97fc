package loop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"example.com/ferry/internal/descriptors"
)

const goroutineBuffer = 64 << 10 // bytes that a goroutine reads or writes in one call

// goroutineSockets implements sockets on every system that Go supports. One goroutine reads each connection. Another goroutine
// writes while there is something to write. Both send the loop the same events as epoll.
type goroutineSockets struct {
	mu     sync.Mutex
	events []event
	wakeup chan struct{} // capacity 1; filled when events are appended, and by wake

	// The fields below are used by the loop only.
	sockets []*goroutineSocket // indexed by number; a nil entry is free
	free    []int32            // free numbers
	timer   *time.Timer
	config  Config
	dialing context.Context // ends when release is called
	cancel  context.CancelFunc
}

var _ sockets = (*goroutineSockets)(nil)

func newGoroutineSockets(cfg Config) *goroutineSockets {
	dialing, cancel := context.WithCancel(context.Background())
	return &goroutineSockets{
		wakeup: make(chan struct{}, 1), timer: time.NewTimer(time.Hour), config: cfg, dialing: dialing, cancel: cancel,
	}
}

func (g *goroutineSockets) wait(events []event, timeout time.Duration) (int, error) {
	if n := g.take(events); n > 0 || timeout == 0 {
		return n, nil
	}
	var after <-chan time.Time
	if timeout > 0 {
		g.timer.Reset(timeout)
		after = g.timer.C
	}
	select {
	case <-g.wakeup:
	case <-after:
	}
	return g.take(events), nil
}

// take moves pending events into events, a slice of the loop, and returns how many.
func (g *goroutineSockets) take(events []event) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := copy(events, g.events)
	g.events = append(g.events[:0], g.events[n:]...)
	if len(g.events) > 0 {
		g.wake()
	}
	return n
}

func (g *goroutineSockets) wake() {
	select {
	case g.wakeup <- struct{}{}:
	default:
	}
}

// add assigns a number to a socket: the number of a closed socket, or the next new number.
func (g *goroutineSockets) add(s *goroutineSocket) int32 {
	s.owner = g
	s.changed = sync.NewCond(&s.mu)
	if n := len(g.free); n > 0 {
		s.id = g.free[n-1]
		g.free = g.free[:n-1]
		g.sockets[s.id] = s
		return s.id
	}
	s.id = int32(len(g.sockets))
	g.sockets = append(g.sockets, s)
	return s.id
}

func (g *goroutineSockets) listen(l net.Listener, gen uint32) (int32, error) {
	q, ok := l.(*acceptQueue)
	if !ok {
		return -1, fmt.Errorf("a %T is not an acceptQueue", l)
	}
	s := &goroutineSocket{accepting: q, gen: gen}
	id := g.add(s)
	q.join(s)
	return id, nil
}

func (g *goroutineSockets) accept(listener int32) (int32, netip.AddrPort, error) {
	if descriptors.Short() {
		return -1, netip.AddrPort{}, errShort
	}
	conn, err := g.sockets[listener].accepting.take()
	if err != nil {
		return -1, netip.AddrPort{}, err
	}
	g.options(conn)
	var from netip.AddrPort
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		from = netip.AddrPortFrom(tcp.AddrPort().Addr().WithZone("").Unmap(), tcp.AddrPort().Port())
	}
	return g.add(&goroutineSocket{conn: conn}), from, nil
}

func (g *goroutineSockets) detach(id int32) detached {
	conn := g.sockets[id].conn
	g.sockets[id] = nil
	g.free = append(g.free, id)
	return detached{conn: conn}
}

func (g *goroutineSockets) attach(s detached) int32 { return g.add(&goroutineSocket{conn: s.conn}) }

func (g *goroutineSockets) options(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: g.config.KeepAlive > 0, Idle: g.config.KeepAlive, Interval: g.config.KeepAlive})
	}
}

func (g *goroutineSockets) dial(to Addr) (int32, error) {
	s := &goroutineSocket{to: to}
	s.dialing, s.cancel = context.WithCancel(g.dialing)
	return g.add(s), nil
}

func (g *goroutineSockets) watch(id int32, gen uint32, connecting bool) error {
	s := g.sockets[id]
	s.gen = gen
	if connecting {
		go s.connect()
	} else {
		go s.readAll()
	}
	return nil
}

func (g *goroutineSockets) connected(id int32) error {
	s := g.sockets[id]
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writeErr; err != nil {
		s.writeErr = nil
		return err
	}
	g.options(s.conn)
	go s.readAll()
	return nil
}

func (*goroutineSockets) failed(int32) error { return nil } // no goroutine reads after the peer's end

func (g *goroutineSockets) read(id int32, p []byte) (int, error) {
	s := g.sockets[id]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.received) == 0 {
		if s.readErr != nil {
			return 0, s.readErr
		}
		return 0, ErrAgain
	}
	n := copy(p, s.received)
	s.received = s.received[n:]
	if len(s.received) == 0 {
		s.changed.Broadcast()
	}
	return n, nil
}

// write starts a goroutine that writes a copy of the queue. The next call of write returns how many bytes were written.
func (g *goroutineSockets) write(id int32, queue *chunk) (int, error) {
	s := g.sockets[id]
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.writeDone && s.writtenBytes > 0:
		n := s.writtenBytes
		s.writtenBytes, s.writeDone = 0, s.writeErr != nil
		return n, nil
	case s.writeErr != nil && s.readErr == nil && len(s.received) == 0:
		return 0, ErrAgain // deliver the peer's last bytes first; the read fails soon too
	case s.writeErr != nil:
		return 0, s.writeErr
	case s.writing != nil:
		return 0, ErrAgain
	}
	for c := queue; c != nil && len(s.writing) < goroutineBuffer; c = c.next {
		s.writing = append(s.writing, c.b[c.off:]...)
	}
	go s.writeOut(s.writing)
	return 0, ErrAgain
}

func (*goroutineSockets) wantWrite(int32, uint32, bool) error { return nil } // a finished write always sends an event

func (g *goroutineSockets) unsent(id int32) int { return unsent(g.sockets[id].conn) }

func (g *goroutineSockets) closeWrite(id int32) error {
	if half, ok := g.sockets[id].conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (g *goroutineSockets) close(id int32, reset bool) {
	s := g.sockets[id]
	g.sockets[id] = nil
	g.free = append(g.free, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
	if s.cancel != nil {
		s.cancel()
	}
	if s.accepting != nil {
		s.accepting.leave(s)
	}
	if s.conn != nil {
		if tcp, ok := s.conn.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		_ = s.conn.Close()
	}
}

func (g *goroutineSockets) addrs(id int32) (local, remote net.Addr) {
	s := g.sockets[id]
	s.mu.Lock() // it may be connecting
	conn := s.conn
	s.mu.Unlock()
	if conn != nil {
		return conn.LocalAddr(), conn.RemoteAddr()
	}
	return nil, nil
}

func (g *goroutineSockets) release() { g.cancel() }
