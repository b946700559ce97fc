package loop

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// acceptQueue accepts connections from one listener and hands them to the loops, in the goroutine implementation. It holds at
// most one accepted connection. The first loop with room takes that connection, so a loop at its limit does not delay a client
// that another loop can serve. All other clients wait in the kernel. Any goroutine may call the methods.
type acceptQueue struct {
	net.Listener

	mu      sync.Mutex
	taken   *sync.Cond         // signalled when conn or err was taken, or a loop left
	conn    net.Conn           // accepted and not yet taken by a loop
	err     error              // why the last accept failed; not yet taken by a loop
	sockets []*goroutineSocket // listening sockets of the loops; each is notified of a connection
	started bool

	finishing, finished bool // finish was called; no connection waits in the kernel
}

// Accept looks for a waiting connection only if it begins before the deadline of the listener, which a busy machine may delay. So acceptAll
// ends after finishTimeouts timeouts in a row; each deadline is finishTime after the last look at the clock before Accept.
const (
	finishTime     = 10 * time.Millisecond
	finishTimeouts = 2
)

// finish makes acceptAll end once no connection waits in the kernel.
func (q *acceptQueue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finishing = true
	q.setDeadline() // of an Accept that waits
}

func (q *acceptQueue) setDeadline() {
	l, ok := q.Listener.(interface{ SetDeadline(time.Time) error })
	q.finished = !ok || l.SetDeadline(time.Now().Add(finishTime)) != nil
}

// accept calls Accept. After finish, counted reports whether its deadline was set for this call.
func (q *acceptQueue) accept() (conn net.Conn, counted bool, err error) {
	q.mu.Lock()
	if counted = q.finishing; counted {
		q.setDeadline()
	}
	q.mu.Unlock()
	conn, err = q.Accept()
	return conn, counted, err
}

// empty reports, after finish, whether no connection waits any more.
func (q *acceptQueue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.conn == nil && (q.finished || !q.started)
}

func newAcceptQueue(l net.Listener) *acceptQueue {
	q := &acceptQueue{Listener: l}
	q.taken = sync.NewCond(&q.mu)
	return q
}

// join adds the listening socket of one loop. The first call starts the accepting goroutine.
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

// leave closes the listener for all loops and removes s. The last loop to leave closes a connection that no loop took.
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

// acceptAll accepts until the listener is closed or all loops have left. It waits after each connection until a loop takes it.
func (q *acceptQueue) acceptAll() {
	timeouts := 0
	for {
		conn, counted, err := q.accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		q.mu.Lock()
		if q.finishing && errors.Is(err, os.ErrDeadlineExceeded) {
			if counted {
				timeouts++
			}
			q.finished = timeouts == finishTimeouts
			q.mu.Unlock()
			if timeouts == finishTimeouts {
				return
			}
			continue
		}
		timeouts = 0
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

// take returns the accepted connection or the error of a failed accept. It returns ErrAgain if there is neither.
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
