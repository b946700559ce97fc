package loop

import (
	"errors"
	"net"
	"sync"
)

// acceptQueue accepts the connections of one listener for the goroutine implementation of all loops. It holds one accepted
// connection at a time, which the first loop with room takes: a loop at its limit cannot keep a client from the others.
// All further clients wait in the kernel. Its methods may be called by any goroutine.
type acceptQueue struct {
	net.Listener

	mu      sync.Mutex
	taken   *sync.Cond         // conn or err was taken, or a loop left
	conn    net.Conn           // was accepted and not yet taken
	err     error              // the same, of an accept that failed
	sockets []*goroutineSocket // the loops' listening sockets; each is notified of a connection
	started bool
}

func newAcceptQueue(l net.Listener) *acceptQueue {
	q := &acceptQueue{Listener: l}
	q.taken = sync.NewCond(&q.mu)
	return q
}

// join adds the listening socket of one loop. The first one starts the goroutine that accepts.
func (q *acceptQueue) join(s *goroutineSocket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sockets = append(q.sockets, s)
	if !q.started {
		q.started = true
		go q.acceptAll()
	}
	if q.conn != nil || q.err != nil {
		s.notify(readyRead)
	}
}

// leave closes the listener for all loops, and removes one of them. The last to leave closes a connection that was not taken.
func (q *acceptQueue) leave(s *goroutineSocket) {
	_ = q.Close()
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.sockets {
		if other == s {
			q.sockets = append(q.sockets[:i], q.sockets[i+1:]...)
			break
		}
	}
	if len(q.sockets) == 0 && q.conn != nil {
		_ = q.conn.Close()
		q.conn = nil
	}
	q.taken.Broadcast()
}

// acceptAll runs until the listener is closed and what it accepted is taken.
func (q *acceptQueue) acceptAll() {
	for {
		conn, err := q.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		q.mu.Lock()
		if len(q.sockets) == 0 {
			q.mu.Unlock()
			if err == nil {
				_ = conn.Close()
			}
			return
		}
		q.conn, q.err = conn, err
		for _, s := range q.sockets {
			s.notify(readyRead)
		}
		for (q.conn != nil || q.err != nil) && len(q.sockets) > 0 {
			q.taken.Wait()
		}
		q.mu.Unlock()
	}
}

// take returns the accepted connection, why accepting failed, or ErrAgain if there is neither.
func (q *acceptQueue) take() (net.Conn, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	conn, err := q.conn, q.err
	if conn == nil && err == nil {
		return nil, ErrAgain
	}
	q.conn, q.err = nil, nil
	q.taken.Broadcast()
	return conn, err
}
