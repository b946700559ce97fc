package admin

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// maxConnections bounds the connections served at once.
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

// connectionLimit bounds the connections of a server. A further one closes the connection that has waited longest for a
// request, so clients that connect and send nothing do not keep others out.
type connectionLimit struct {
	max int

	mu      sync.Mutex
	open    map[net.Conn]*list.Element // its element in waiting; nil while a request is handled
	waiting list.List                  // connections between requests (net.Conn), oldest first
}

func newConnectionLimit(n int) *connectionLimit {
	return &connectionLimit{max: n, open: map[net.Conn]*list.Element{}}
}

// changed is an http.Server.ConnState.
func (l *connectionLimit) changed(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.open[c]
	if !known && state != http.StateNew {
		return // it was closed below, while its request arrived
	}
	if e != nil {
		l.waiting.Remove(e)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		l.open[c] = l.waiting.PushBack(c)
	case http.StateActive:
		l.open[c] = nil
	default:
		delete(l.open, c)
	}
	if len(l.open) > l.max {
		oldest, _ := l.waiting.Remove(l.waiting.Front()).(net.Conn) // at least the new one waits
		delete(l.open, oldest)
		closeAtOnce(oldest)
	}
}

// closeAtOnce closes c without the alert of TLS, for which a client that does not read could make Close wait.
func closeAtOnce(c net.Conn) {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	_ = c.Close()
}
