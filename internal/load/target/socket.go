package target

import (
	"context"
	"net"
	"sync"
	"time"

	"example.com/ferry/transport"
)

// defaultTimeout bounds a request if the target sets no timeout.
const defaultTimeout = 10 * time.Second

// connectTimeout bounds an attempt to connect.
const connectTimeout = 10 * time.Second

// timeoutOf returns the timeout with its default.
func timeoutOf(d time.Duration) time.Duration {
	if d <= 0 {
		return defaultTimeout
	}
	return d
}

// socket is the connection of one worker. It connects when it is needed. Only close may overlap with other methods.
type socket struct {
	transport transport.Transport
	addr      string
	timeout   time.Duration // of a request

	mu     sync.Mutex
	nc     net.Conn // nil if there is none
	closed bool
}

func newSocket(t transport.Transport, addr string, timeout time.Duration) *socket {
	return &socket{transport: t, addr: addr, timeout: timeoutOf(timeout)}
}

// begin returns the connection, whose deadline is that of a request that begins now.
func (s *socket) begin(ctx context.Context) (nc net.Conn, err error) {
	s.mu.Lock()
	nc = s.nc
	s.mu.Unlock()
	if nc == nil {
		ctx, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		if nc, err = s.transport.Dial(ctx, s.addr); err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			_ = nc.Close()
			return nil, net.ErrClosed
		}
		s.nc = nc
	}
	return nc, nc.SetDeadline(time.Now().Add(s.timeout))
}

// drop closes the connection; the next begin connects again.
func (s *socket) drop() {
	s.mu.Lock()
	nc := s.nc
	s.nc = nil
	s.mu.Unlock()
	if nc != nil {
		_ = nc.Close()
	}
}

// close ends the socket for good.
func (s *socket) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.drop()
}
