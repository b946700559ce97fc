package loop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const twinBuffer = 64 << 10 // bytes: what a goroutine reads, or writes, at a time

// goroutines is sockets for every system Go runs on: a goroutine reads each connection, another writes while there is
// something to write, and both tell the loop as epoll would.
type goroutines struct {
	mu     sync.Mutex
	events []event
	bell   chan struct{} // has room for one: rung when events is not empty any more, or by wake
	table  []*twinSocket // by number; nil is free. The loop's own, as all below
	free   []int32
	timer  *time.Timer
	config Config
	stop   context.Context // of those that dial
	cancel context.CancelFunc
}

var _ sockets = (*goroutines)(nil)

func newGoroutines(cfg Config) *goroutines {
	stop, cancel := context.WithCancel(context.Background())
	return &goroutines{bell: make(chan struct{}, 1), timer: time.NewTimer(time.Hour), config: cfg, stop: stop, cancel: cancel}
}

// twinSocket is one connection, or one listener.
type twinSocket struct {
	owner     *goroutines
	id        int32
	gen       uint32
	to        Addr
	conn      net.Conn
	accepting *acceptQueue // of a listener

	mu      sync.Mutex
	cond    *sync.Cond
	in      []byte // was read and not yet taken by the loop
	inErr   error  // what follows in
	out     []byte // is being written
	outDone bool   // and has been, outWritten bytes of it
	written int
	outErr  error
	stop    context.Context
	cancel  context.CancelFunc
	closed  bool
}

func (g *goroutines) wait(events []event, timeout time.Duration) (int, error) {
	if n := g.take(events); n > 0 || timeout == 0 {
		return n, nil
	}
	var after <-chan time.Time
	if timeout > 0 {
		g.timer.Reset(timeout)
		after = g.timer.C
	}
	select {
	case <-g.bell:
	case <-after:
	}
	return g.take(events), nil
}

func (g *goroutines) take(events []event) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := copy(events, g.events)
	g.events = append(g.events[:0], g.events[n:]...)
	if len(g.events) > 0 {
		g.wake()
	}
	return n
}

func (g *goroutines) wake() {
	select {
	case g.bell <- struct{}{}:
	default:
	}
}

// tell is called by a socket's goroutines.
func (s *twinSocket) tell(r ready) {
	g := s.owner
	g.mu.Lock()
	g.events = append(g.events, event{s.id, s.gen, r})
	g.mu.Unlock()
	g.wake()
}

// add gives a socket a number: one that is free, if there is one.
func (g *goroutines) add(s *twinSocket) int32 {
	s.owner = g
	s.cond = sync.NewCond(&s.mu)
	if n := len(g.free); n > 0 {
		s.id = g.free[n-1]
		g.free = g.free[:n-1]
		g.table[s.id] = s
		return s.id
	}
	s.id = int32(len(g.table))
	g.table = append(g.table, s)
	return s.id
}

func (g *goroutines) listen(l net.Listener, gen uint32) (int32, error) {
	q, ok := l.(*acceptQueue)
	if !ok {
		return -1, fmt.Errorf("a %T is not an acceptQueue", l)
	}
	s := &twinSocket{accepting: q, gen: gen}
	id := g.add(s)
	q.join(s)
	return id, nil
}

func (g *goroutines) accept(listener int32) (int32, error) {
	conn, err := g.table[listener].accepting.take()
	if err != nil {
		return -1, err
	}
	g.options(conn)
	return g.add(&twinSocket{conn: conn}), nil
}

func (g *goroutines) options(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: g.config.KeepAlive > 0, Idle: g.config.KeepAlive, Interval: g.config.KeepAlive})
	}
}

func (g *goroutines) dial(to Addr) (int32, error) {
	s := &twinSocket{to: to}
	s.stop, s.cancel = context.WithCancel(g.stop)
	return g.add(s), nil
}

func (g *goroutines) watch(id int32, gen uint32, connecting bool) error {
	s := g.table[id]
	s.gen = gen
	if connecting {
		go s.connect()
	} else {
		go s.readAll()
	}
	return nil
}

func (s *twinSocket) connect() {
	var d net.Dialer
	network, address := s.to.split()
	conn, err := d.DialContext(s.stop, network, address)
	s.mu.Lock()
	closed := s.closed
	s.conn, s.outErr = conn, err
	s.mu.Unlock()
	switch {
	case !closed:
		s.tell(readyWrite)
	case err == nil:
		_ = conn.Close()
	}
}

func (g *goroutines) connected(id int32) error {
	s := g.table[id]
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.outErr; err != nil {
		s.outErr = nil
		return err
	}
	g.options(s.conn)
	go s.readAll()
	return nil
}

func (*goroutines) failed(int32) error { return nil } // nobody reads any more

// readAll reads ahead by one buffer.
func (s *twinSocket) readAll() {
	buf := make([]byte, twinBuffer)
	for {
		n, err := s.conn.Read(buf)
		s.mu.Lock()
		for len(s.in) > 0 && !s.closed {
			s.cond.Wait()
		}
		if s.closed {
			s.mu.Unlock()
			return
		}
		s.in, s.inErr = buf[:n], err
		r := readyRead
		if err != nil {
			r |= readyEnd
		}
		s.tell(r)
		for len(s.in) > 0 && !s.closed {
			s.cond.Wait()
		}
		closed := s.closed
		s.mu.Unlock()
		if err != nil || closed {
			return
		}
	}
}

func (g *goroutines) read(id int32, p []byte) (int, error) {
	s := g.table[id]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.in) == 0 {
		if s.inErr != nil {
			return 0, s.inErr
		}
		return 0, ErrAgain
	}
	n := copy(p, s.in)
	s.in = s.in[n:]
	if len(s.in) == 0 {
		s.cond.Broadcast()
	}
	return n, nil
}

// write has a goroutine write a copy of what is queued, and returns what it has written when it is called again.
func (g *goroutines) write(id int32, queue *chunk) (int, error) {
	s := g.table[id]
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.outDone && s.written > 0:
		n := s.written
		s.written, s.outDone = 0, s.outErr != nil
		return n, nil
	case s.outErr != nil && s.inErr == nil && len(s.in) == 0:
		return 0, ErrAgain // reading fails soon too, and brings what the peer said before
	case s.outErr != nil:
		return 0, s.outErr
	case s.out != nil:
		return 0, ErrAgain
	}
	for c := queue; c != nil && len(s.out) < twinBuffer; c = c.next {
		s.out = append(s.out, c.b[c.off:]...)
	}
	go s.writeOut(s.out)
	return 0, ErrAgain
}

func (s *twinSocket) writeOut(p []byte) {
	n, err := s.conn.Write(p)
	s.mu.Lock()
	s.out, s.outDone, s.written, s.outErr = nil, true, n, err
	s.mu.Unlock()
	s.tell(readyWrite)
}

func (*goroutines) wantWrite(int32, uint32, bool) error { return nil } // it always tells

func (g *goroutines) unsent(id int32) int { return unsent(g.table[id].conn) }

func (g *goroutines) closeWrite(id int32) error {
	if half, ok := g.table[id].conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (g *goroutines) close(id int32, reset bool) {
	s := g.table[id]
	g.table[id] = nil
	g.free = append(g.free, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.cond.Broadcast()
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

func (g *goroutines) addrs(id int32) (local, remote net.Addr) {
	if conn := g.table[id].conn; conn != nil {
		return conn.LocalAddr(), conn.RemoteAddr()
	}
	return nil, nil
}

func (g *goroutines) release() { g.cancel() }
