package admin

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// maxConnections bounds the connections served at once. It is larger than what the routes handle at once: maxCostly, and 8 scrapes.
const maxConnections = 256

// securedListener accepts connections for TLS, if the service of the moment has it.
type securedListener struct {
	net.Listener
	service *atomic.Pointer[service]
}

// Accept returns the next connection. The HTTP server does the handshake.
func (l *securedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if c := l.service.Load().tls; c != nil {
		return tls.Server(conn, c), nil
	}
	return conn, nil
}

// grace is how long a connection may be without a whole request head before a further one may close it.
const grace = 250 * time.Millisecond

// connectionLimit bounds the connections of a server. A further one closes the connection that has been without a whole request head
// longest, if that is longer than grace, or waits for that; clients beyond it wait in the kernel. So clients that connect and send
// nothing, or a head a byte at a time, do not keep others out, and a request that comes at once is handled.
type connectionLimit struct {
	max     int
	evicted atomic.Uint64

	mu      sync.Mutex
	open    map[net.Conn]*list.Element // its element in waiting; nil while a handler runs
	waiting list.List                  // connections without a handler (waitingConn), oldest first
	freed   chan struct{}              // filled when a connection has ended, or its handler has
}

type waitingConn struct {
	conn  net.Conn
	since time.Time
}

func newConnectionLimit(n int) *connectionLimit {
	return &connectionLimit{max: n, open: map[net.Conn]*list.Element{}, freed: make(chan struct{}, 1)}
}

// changed is an http.Server.ConnState. The server accepts no other connection while changed waits with StateNew. StateActive says that
// the first byte of a request has arrived, which changes nothing.
func (l *connectionLimit) changed(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		for !l.add(c) {
			select {
			case <-l.freed:
			case <-time.After(grace / 4):
			}
		}
	case http.StateClosed, http.StateHijacked:
		l.mu.Lock()
		l.remove(c)
		l.mu.Unlock()
	}
}

// add adds a connection if there is room, or room can be made.
func (l *connectionLimit) add(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.max {
		front := l.waiting.Front()
		if front == nil {
			return false
		}
		oldest, _ := front.Value.(waitingConn)
		if time.Since(oldest.since) < grace {
			return false
		}
		l.remove(oldest.conn)
		l.evicted.Add(1)
		closeAtOnce(oldest.conn)
	}
	l.wait(c)
	return true
}

func (l *connectionLimit) wait(c net.Conn) {
	l.open[c] = l.waiting.PushBack(waitingConn{c, time.Now()})
}

func (l *connectionLimit) remove(c net.Conn) {
	if e := l.open[c]; e != nil {
		l.waiting.Remove(e)
	}
	delete(l.open, c)
	l.free()
}

func (l *connectionLimit) free() {
	select {
	case l.freed <- struct{}{}:
	default: // it is filled already
	}
}

// begin notes that a handler runs for c. It returns false if c was closed.
func (l *connectionLimit) begin(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.open[c]
	if !known {
		return false // its request arrived while it was closed
	}
	if e != nil {
		l.waiting.Remove(e)
	}
	l.open[c] = nil
	return true
}

// end notes that the handler of c has ended.
func (l *connectionLimit) end(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.open[c]; known {
		l.wait(c)
		l.free()
	}
}

// connKey is the key of a request's connection (net.Conn) in its context.
type connKey struct{}

// withConn is an http.Server.ConnContext.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf returns the connection of a request; nil for one that no http.Server has received.
func connOf(r *http.Request) net.Conn {
	c, _ := r.Context().Value(connKey{}).(net.Conn)
	return c
}

// closeAtOnce closes c without the alert of TLS, for which a client that does not read could make Close wait.
func closeAtOnce(c net.Conn) {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	_ = c.Close()
}
