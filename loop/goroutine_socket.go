package loop

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// goroutineSocket is one connection, or the listening socket of one loop.
type goroutineSocket struct {
	owner     *goroutineSockets
	id        int32
	gen       uint32
	to        Addr
	conn      net.Conn
	accepting *acceptQueue    // queue of a listening socket; nil for a connection
	dialing   context.Context // ends when the socket is closed before it is connected
	cancel    context.CancelFunc

	mu           sync.Mutex
	changed      *sync.Cond // signalled when received becomes empty or closed becomes true
	received     []byte     // bytes read from the connection and not yet taken by the loop
	readErr      error      // result of the read after received
	writing      []byte     // bytes that writeOut is writing
	writeDone    bool       // the write has returned; writtenBytes and writeErr are its results
	writtenBytes int
	writeErr     error
	closed       bool
}

// notify sends an event to the loop. The socket's goroutines call it.
func (s *goroutineSocket) notify(r ready) {
	g := s.owner
	g.mu.Lock()
	g.events = append(g.events, event{s.id, s.gen, r})
	g.mu.Unlock()
	g.wake()
}

// connect dials. It runs on a goroutine of its own.
func (s *goroutineSocket) connect() {
	var d net.Dialer
	network, address := s.to.netAddress()
	conn, err := d.DialContext(s.dialing, network, address)
	s.mu.Lock()
	closed := s.closed
	s.conn, s.writeErr = conn, err
	s.mu.Unlock()
	switch {
	case !closed:
		s.notify(readyWrite)
	case err == nil:
		_ = conn.Close()
	}
}

// readAll reads until the end of the stream. It runs on a goroutine of its own, and reads one buffer ahead of the loop.
func (s *goroutineSocket) readAll() {
	buf := make([]byte, goroutineBuffer)
	for {
		n, err := s.conn.Read(buf)
		s.mu.Lock()
		for len(s.received) > 0 && !s.closed {
			s.changed.Wait()
		}
		if s.closed {
			s.mu.Unlock()
			return
		}
		s.received, s.readErr = buf[:n], err
		r := readyRead
		if err != nil {
			r |= readyEnd
		}
		s.notify(r)
		for len(s.received) > 0 && !s.closed {
			s.changed.Wait()
		}
		closed := s.closed
		s.mu.Unlock()
		if err != nil || closed {
			return
		}
	}
}

// A write that blocks returns after firstWait with what was written, because Conn.Unsent counts the bytes of a write until it has
// returned: the loop would see no progress of a peer that reads slowly. A write that made no progress waits for longer, to mostWait.
const (
	firstWait = 20 * time.Millisecond
	mostWait  = time.Second
)

// writeOut writes p or a part of it. It runs on a goroutine that is started for this write.
func (s *goroutineSocket) writeOut(p []byte) {
	n, err := 0, os.ErrDeadlineExceeded
	for wait := firstWait; n == 0 && errors.Is(err, os.ErrDeadlineExceeded); wait = min(2*wait, mostWait) {
		if err = s.conn.SetWriteDeadline(time.Now().Add(wait)); err == nil {
			n, err = s.conn.Write(p)
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	s.mu.Lock()
	s.writing, s.writeDone, s.writtenBytes, s.writeErr = nil, true, n, err
	s.mu.Unlock()
	s.notify(readyWrite)
}
