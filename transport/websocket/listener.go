package websocket

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"example.com/ferry/transport"
	"example.com/ferry/transport/internal/accept"
)

// maxHeader bounds the head of a request for a WebSocket, and of the response, in bytes.
const maxHeader = 16 << 10

// Listener accepts WebSockets. As an http.Handler, it accepts those that arrive at a server of net/http.
type Listener struct {
	cfg    Config
	path   string // the only path that is served; empty means all
	addr   net.Addr
	server *http.Server // nil if another server calls ServeHTTP

	ready    chan transport.Conn
	waiting  *accept.Waiting // connections whose request has not arrived
	accepted *accept.Waiting // WebSockets that Accept has not returned
	early    sync.Map        // net.Conn -> func(), which ends the wait of a connection in waiting
	ctx      context.Context // cancelled by Close
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu     sync.Mutex // orders running.Add before running.Wait
	closed bool
}

var (
	_ transport.Listener = (*Listener)(nil)
	_ http.Handler       = (*Listener)(nil)
)

// Handler returns a Listener without a socket. Accept returns the WebSockets whose requests another server passes to ServeHTTP. That
// server terminates TLS. Addr has the network ws and no address.
func (t *Transport) Handler() *Listener { return t.newListener(address{}, "") }

func (t *Transport) newListener(addr net.Addr, path string) *Listener {
	l := &Listener{
		cfg: t.cfg, path: path, addr: addr, ready: make(chan transport.Conn),
		waiting: accept.NewWaiting(t.cfg.MaxHandshakes), accepted: accept.NewWaiting(t.cfg.MaxHandshakes),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// serve accepts WebSockets on the connections of inner.
func (t *Transport) serve(inner net.Listener, path string) *Listener {
	l := t.newListener(inner.Addr(), path)
	if path != "/" {
		l.addr = address{inner.Addr().String() + path}
	}
	l.server = &http.Server{
		Handler:           l,
		ReadHeaderTimeout: t.cfg.HandshakeTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnState:         l.connState,
		ErrorLog:          log.New(io.Discard, "", 0), // faults of clients
		Protocols:         new(http.Protocols),
	}
	l.server.Protocols.SetHTTP1(true)
	if t.secure {
		l.server.TLSConfig = minTLS12(t.cfg.ServerTLS)
		l.running.Go(func() { _ = l.server.ServeTLS(inner, "", "") })
		return l
	}
	l.running.Go(func() { _ = l.server.Serve(inner) })
	return l
}

// connState bounds the time and number of connections without a request.
func (l *Listener) connState(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		ctx, done := l.waiting.Start(l.ctx, l.cfg.HandshakeTimeout)
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		l.early.Store(conn, func() { stop(); done() })
	case http.StateHijacked, http.StateClosed:
		if end, ok := l.early.LoadAndDelete(conn); ok {
			end.(func())()
		}
	}
}

// ServeHTTP accepts the WebSocket of a request, and waits until Accept takes it.
func (l *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.path != "" && r.URL.Path != l.path {
		http.NotFound(w, r)
		return
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		http.Error(w, "the listener is closed", http.StatusServiceUnavailable)
		return
	}
	l.running.Add(1)
	l.mu.Unlock()
	defer l.running.Done()

	hijacked := &hijacker{ResponseWriter: w}
	ws, err := websocket.Accept(hijacked, r, &websocket.AcceptOptions{OriginPatterns: l.cfg.Origins})
	if err != nil {
		return // the response says why
	}
	conn := newConn(ws, hijacked.conn, r.TLS, l.cfg.Linger)
	ctx, done := l.accepted.Start(l.ctx, l.cfg.HandshakeTimeout)
	defer done()
	select {
	case l.ready <- conn:
	case <-ctx.Done():
		_ = conn.Close()
	}
}

// hijacker notes the connection that is taken over.
type hijacker struct {
	http.ResponseWriter
	conn net.Conn
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, rw, err
}

// Accept returns the next WebSocket. After Close it returns net.ErrClosed.
func (l *Listener) Accept(ctx context.Context) (transport.Conn, error) {
	return accept.Next(ctx, l.ready, l.ctx.Done())
}

// Addr returns the address for Dial: that of the socket, and the path unless it is /.
func (l *Listener) Addr() net.Addr { return l.addr }

// Close stops listening. It closes the connections that Accept has not returned.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	var err error
	if l.server != nil {
		err = l.server.Close()
	}
	l.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// address is HOST:PORT/PATH.
type address struct{ text string }

func (address) Network() string  { return "ws" }
func (a address) String() string { return a.text }
