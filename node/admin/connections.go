package admin

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
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

// connectionLimit bounds the connections of a server. A further one closes the connection that has been without a whole request head
// longest. So clients that connect and send nothing, or a head a byte at a time, do not keep others out.
type connectionLimit struct {
	max     int
	evicted atomic.Uint64

	mu      sync.Mutex
	open    map[net.Conn]*list.Element // its element in waiting; nil while a handler runs
	waiting list.List                  // connections without a handler (net.Conn), oldest first
}

func newConnectionLimit(n int) *connectionLimit {
	return &connectionLimit{max: n, open: map[net.Conn]*list.Element{}}
}

// changed is an http.Server.ConnState. StateActive says that the first byte of a request has arrived, which changes nothing.
func (l *connectionLimit) changed(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew:
		l.open[c] = l.waiting.PushBack(c)
	case http.StateClosed, http.StateHijacked:
		l.remove(c)
	}
	if len(l.open) > l.max {
		oldest, _ := l.waiting.Front().Value.(net.Conn) // at least the new one waits
		l.remove(oldest)
		l.evicted.Add(1)
		closeAtOnce(oldest)
	}
}

func (l *connectionLimit) remove(c net.Conn) {
	if e := l.open[c]; e != nil {
		l.waiting.Remove(e)
	}
	delete(l.open, c)
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
		l.open[c] = l.waiting.PushBack(c)
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
