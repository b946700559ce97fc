package web

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/loop"
	"example.com/ferry/loop/tlslayer"
)

// Bounds of what one loop keeps.
const (
	maxFreeRequests = 1024
	sweepInterval   = 5 * time.Second
)

// loopState is the part of a Server that belongs to one loop. Only that loop uses it, except notify.
type loopState struct {
	server    *Server
	loop      *loop.Loop
	newcomers *edge.Newcomers
	shaking   *shaking
	idle      *idle
	closing   *closing
	batch     *broker.Batch
	messages  []broker.Message // reused by publish
	ends      []int            // offsets behind the messages
	scratch   []byte           // reused by responses
	dateText  []byte           // value of the Date field
	dated     time.Duration    // when it was made, as Loop.Now
	clients   map[string]*publisher
	free      []*request
	sweeper   *loop.Timer
	swept     bool // the sweeper is set
	open      atomic.Int64

	mu      sync.Mutex
	notices []func() // what callbacks of the broker have for the loop
	spare   []func()
	posted  bool
}

// newcomersMemory bounds the halves of request heads that a loop holds before their clients are identified, in bytes.
const newcomersMemory = 4 << 20

func newLoopState(s *Server, l *loop.Loop, places int) *loopState {
	ls := &loopState{
		server: s, loop: l, batch: broker.NewBatch(s.cfg.Broker), clients: map[string]*publisher{}, newcomers: edge.NewNewcomers(places, newcomersMemory),
	}
	ls.shaking = &shaking{ls: ls}
	ls.idle, ls.closing = &idle{ls: ls}, &closing{ls: ls}
	ls.sweeper = l.NewTimer(ls.sweep)
	return ls
}

// notify makes the loop call f soon. Any goroutine may call it. It never waits.
func (ls *loopState) notify(f func()) {
	ls.mu.Lock()
	ls.notices = append(ls.notices, f)
	post := !ls.posted
	ls.posted = true
	ls.mu.Unlock()
	if !post {
		return
	}
	if err := ls.loop.Post(ls.run); errors.Is(err, loop.ErrBusy) {
		go func() { _ = ls.loop.PostWait(context.Background(), ls.run) }()
	}
}

// run calls what notify was given.
func (ls *loopState) run() {
	ls.mu.Lock()
	taken := ls.notices
	ls.notices, ls.spare, ls.posted = ls.spare[:0], nil, false
	ls.mu.Unlock()
	for i, f := range taken {
		f()
		taken[i] = nil
	}
	ls.mu.Lock()
	ls.spare = taken[:0]
	ls.mu.Unlock()
}

// request returns a request for the connection.
func (ls *loopState) request(c *loop.Conn) *request {
	var r *request
	if n := len(ls.free); n > 0 {
		r = ls.free[n-1]
		ls.free = ls.free[:n-1]
	} else {
		r = &request{ls: ls}
	}
	r.conn = c
	return r
}

// tlsState returns the result of the connection's TLS handshake, or nil.
func tlsState(c *loop.Conn) *tls.ConnectionState {
	l, ok := c.Layer().(*tlslayer.Layer)
	if !ok {
		return nil
	}
	state := l.ConnectionState()
	return &state
}

// publisher returns the client of the broker that publishes for a token or certificate. It is shared by the requests of a loop. The
// error is a *native.Error.
func (ls *loopState) publisher(token []byte, c *loop.Conn) (*publisher, error) {
	key := append([]byte("token "), token...) // no token looks like a certificate
	var state *tls.ConnectionState
	if len(token) == 0 {
		if state = tlsState(c); state != nil && len(state.VerifiedChains) > 0 {
			sum := sha256.Sum256(state.PeerCertificates[0].Raw)
			key = append([]byte("certificate "), sum[:]...)
		}
	}
	if p := ls.clients[string(key)]; p != nil && !p.ended.Load() {
		p.used = ls.loop.Now()
		return p, nil
	}
	p := &publisher{ls: ls, key: string(key), tags: map[string]*tag{}, used: ls.loop.Now()}
	local, err := ls.server.clients.Connect(broker.LocalConfig{
		Addr: c.RemoteIP(), Token: token, TLS: state, Anonymous: *ls.server.open.Load(), Handler: p,
	})
	if err != nil {
		return nil, err
	}
	p.local = local
	ls.clients[p.key] = p
	ls.sweepLater()
	return p, nil
}

// closed notes that a connection that was opened is closed.
func (ls *loopState) closed(c *loop.Conn) {
	ls.newcomers.Remove(c)
	ls.open.Add(-1)
}

// shaking handles the connections of a loop whose TLS handshake is not complete.
type shaking struct {
	loop.Base
	ls *loopState
}

func (h *shaking) Closed(c *loop.Conn, _ error) { h.ls.newcomers.Remove(c) }

func (ls *loopState) sweepLater() {
	if !ls.swept {
		ls.swept = true
		ls.sweeper.Set(sweepInterval)
	}
}

// sweep gives back grants and clients that are not used.
func (ls *loopState) sweep() {
	ls.swept = false
	oldest := ls.loop.Now() - ls.server.cfg.IdleTimeout
	for key, p := range ls.clients {
		for name, t := range p.tags {
			if t.used < oldest && t.requests == 0 {
				delete(p.tags, name)
				t.grant.Close()
			}
		}
		if p.requests == 0 && (p.ended.Load() || p.used < oldest && len(p.tags) == 0) {
			delete(ls.clients, key)
			p.local.Close()
		}
	}
	if len(ls.clients) > 0 {
		ls.sweepLater()
	}
}

// closeClients ends all clients that publish.
func (ls *loopState) closeClients() {
	for _, p := range ls.clients {
		p.local.Close()
	}
	clear(ls.clients)
}

// idle handles all connections of a loop that have no request.
type idle struct {
	loop.Base
	ls *loopState
}

var _ loop.Shutdowner = (*idle)(nil)

// idleTimer is the only timer of most connections; what it limits depends on their handler.
const idleTimer = 0

func (h *idle) Opened(c *loop.Conn) {
	h.ls.open.Add(1)
	c.SetTimer(idleTimer, h.ls.server.cfg.IdleTimeout)
}

// Data begins a request.
func (h *idle) Data(c *loop.Conn, p []byte) int {
	if c.Full() {
		c.PauseReading() // the client sends requests but does not read the responses
		return 0
	}
	r := h.ls.request(c)
	c.SetHandler(r)
	return r.Data(c, p)
}

func (h *idle) Drained(c *loop.Conn)         { c.ResumeReading() }
func (h *idle) HalfClosed(c *loop.Conn)      { c.CloseWrite() }
func (h *idle) Timer(c *loop.Conn, _ int)    { c.Close() }
func (h *idle) Closed(c *loop.Conn, _ error) { h.ls.closed(c) }
func (h *idle) Shutdown(c *loop.Conn)        { c.Close() }

// closing handles connections whose last response is queued. The client may still send for a while: if the connection were closed at
// once, it would be reset, and the client might lose the response (RFC 9112, section 9.6).
type closing struct {
	loop.Base
	ls *loopState
}

var _ loop.Shutdowner = (*closing)(nil)

const lingerTime = 2 * time.Second

func (h *closing) begin(c *loop.Conn) {
	c.SetHandler(h)
	c.ResumeReading()
	c.CloseWrite()
	c.SetTimer(idleTimer, lingerTime)
}

func (h *closing) HalfClosed(*loop.Conn)        {}
func (h *closing) Timer(c *loop.Conn, _ int)    { c.Close() }
func (h *closing) Closed(c *loop.Conn, _ error) { h.ls.closed(c) }
func (h *closing) Shutdown(*loop.Conn)          {}
