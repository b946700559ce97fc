// Package descriptors says when the process has nearly used up its file descriptors (RLIMIT_NOFILE).
//
// A process without descriptors can neither open its files nor serve its operator. So listeners stop accepting while Short: clients
// wait in the kernel. The rest is for connections to servers, up to half of it, for files, and for the admin server.
//
//	for descriptors.Short() {
//		wait()
//	}
//	conn, err := listener.Accept()
package descriptors

import (
	"math"
	"net"
	"sync/atomic"
	"time"
)

// reserve returns how many of limit descriptors accepted connections leave: a sixteenth, at least 32 and at most 1024, but no more
// than a quarter.
func reserve(limit int64) int64 { return min(max(limit/16, 32), 1024, limit/4) }

// read has the limit that was last read; 0 before the first time.
var read atomic.Int64

// refresh reads the limit, which another process may change (prlimit(2)). It is math.MaxInt64 where there is none.
func refresh() int64 {
	limit := current()
	read.Store(limit)
	return limit
}

func known() int64 {
	if limit := read.Load(); limit != 0 {
		return limit
	}
	return refresh()
}

// Limit returns how many descriptors the process may open, and how many of them accepted connections leave. The limit is
// math.MaxInt64 where there is none.
func Limit() (limit, kept int64) {
	limit = refresh()
	return limit, reserve(limit)
}

// Short reports whether the free descriptors are in the reserve, or none is left. It takes about a microsecond.
func Short() bool {
	limit := refresh()
	if limit == math.MaxInt64 {
		return false
	}
	fd, ok := lowestFree()
	return !ok || int64(fd) >= limit-reserve(limit)
}

// Reserved reports whether an accepted connection with this descriptor has left less than the reserve. The system gives a new
// descriptor the lowest free number. So Short is called before the next connection is accepted.
func Reserved(fd int) bool {
	limit := known()
	return int64(fd) >= limit-reserve(limit)
}

// Spent reports whether a connection to a server with this descriptor has used more than half of the reserve, which it has to give
// back.
func Spent(fd int) bool {
	spent := func(limit int64) bool { return int64(fd) >= limit-reserve(limit)/2 }
	return spent(known()) && spent(refresh())
}

// acceptPause is how long a Listener waits before it looks again.
const acceptPause = 100 * time.Millisecond

// Listener returns l, whose Accept waits while Short.
func Listener(l net.Listener) net.Listener {
	return &listener{Listener: l, closed: make(chan struct{})}
}

type listener struct {
	net.Listener
	closing atomic.Bool
	closed  chan struct{}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for Short() {
		select {
		case <-time.After(acceptPause):
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
	return l.Listener.Accept()
}

// Close implements net.Listener.
func (l *listener) Close() error {
	if !l.closing.Swap(true) {
		close(l.closed)
	}
	return l.Listener.Close()
}
