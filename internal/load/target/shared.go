package target

import (
	"context"
	"sync"
)

// sharedConn is a connection that several workers use at a time.
type sharedConn interface {
	Closing() <-chan struct{} // closed when the connection accepts no further request
	Close(ctx context.Context) error
}

// shares are the connections of a target.
type shares[C sharedConn] struct {
	mu  sync.Mutex
	all map[int]*share[C]
}

// share is one of them, and how many workers it has.
type share[C sharedConn] struct {
	dial func(context.Context) (C, error)

	mu    sync.Mutex
	conn  C
	live  bool // conn is set
	users int
}

// defaultConns is the number of connections if the target sets none.
const defaultConns = 4

// of returns the connection of a worker, which has to call leave.
func (s *shares[C]) of(worker, conns int, dial func(context.Context) (C, error)) *share[C] {
	if conns <= 0 {
		conns = defaultConns
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[int]*share[C]{}
	}
	one := s.all[worker%conns]
	if one == nil {
		one = &share[C]{dial: dial}
		s.all[worker%conns] = one
	}
	one.mu.Lock()
	one.users++
	one.mu.Unlock()
	return one
}

// get returns the connection. It connects if there is none, or if the last one accepts no further request.
func (s *share[C]) get(ctx context.Context) (C, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		select {
		case <-s.conn.Closing():
			go closeInTime(s.conn) // requests of other workers may be in progress
			s.live = false
		default:
			return s.conn, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := s.dial(ctx)
	if err == nil {
		s.conn, s.live = conn, true
	}
	return conn, err
}

// leave closes the connection if no other worker uses it.
func (s *share[C]) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 && s.live {
		s.live = false
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.conn.Close(ended)
	}
}

// closeInTime closes a connection after its requests, or after some time.
func closeInTime(conn sharedConn) {
	ctx, cancel := context.WithTimeout(context.Background(), defaultTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}
