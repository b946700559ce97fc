package http1

import (
	"slices"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/upstream"

	wire "example.com/ferry/protocol/http1"
)

// waitInterval is how often the pool retries for requests that wait for a connection. A polling interval is needed
// because a connection closed by another loop also makes room.
const waitInterval = 20 * time.Millisecond

// pool has the connections of one loop to one endpoint, and is the handler of the free ones. A connection serves one
// request at a time. The most recently used connection is reused first, so surplus connections become idle and are
// closed.
type pool struct {
	loop.Base
	loop      *loop.Loop
	endpoint  *upstream.Endpoint
	free      []*loop.Conn
	opening   []*loop.Conn    // connections that are being opened and whose requests were canceled
	waiting   []*upstreamSide // requests without a connection, oldest first
	waitTimer *loop.Timer
	retired   bool
}

var (
	_ upstream.Pool   = (*pool)(nil)
	_ loop.Shutdowner = (*pool)(nil)
)

// poolOf returns the loop's pool for endpoint e.
func poolOf(e *upstream.Endpoint, l *loop.Loop) *pool {
	if p, ok := e.Pool(l.Index(), upstream.HTTP1).(*pool); ok {
		return p
	}
	p := &pool{loop: l, endpoint: e, retired: e.Retired()}
	p.waitTimer = l.NewTimer(p.serveWaiting)
	e.SetPool(l.Index(), upstream.HTTP1, p)
	return p
}

// assign gives u a connection or adds it to the waiting requests. It returns false if too many requests wait already.
func (p *pool) assign(u *upstreamSide, fresh bool) bool {
	switch {
	case p.connect(u, fresh):
	case !p.endpoint.Cluster().Wait():
		return false
	default:
		u.enter(waiting)
		p.waiting = append(p.waiting, u)
		p.waitTimer.Set(waitInterval)
	}
	return true
}

// connect gives u a connection, if one is free, is being opened without a request, or may be opened.
func (p *pool) connect(u *upstreamSide, fresh bool) bool {
	switch {
	case len(p.free) > 0 && !fresh:
		c := takeLast(&p.free)
		c.StopTimer(idleTimer)
		u.setConn(c, true)
	case len(p.opening) > 0:
		u.setConn(takeLast(&p.opening), false)
	case p.endpoint.Connect():
		u.setConn(p.dial(u), false)
	default:
		return false
	}
	return true
}

func takeLast(list *[]*loop.Conn) *loop.Conn {
	n := len(*list) - 1
	c := (*list)[n]
	(*list)[n] = nil
	*list = (*list)[:n]
	return c
}

// cancel ends the use of a connection by a request that is canceled. A connection that is being opened stays for other requests:
// otherwise a client that cancels each request at once would make the proxy open a connection for each of them.
func (p *pool) cancel(c *loop.Conn) {
	if p.retired || !c.DropQueue() {
		p.abort(c)
		return
	}
	c.SetHandler(p)
	c.ResumeReading()
	p.opening = append(p.opening, c)
	p.serveWaiting()
}

// Opened adds a connection to the free ones.
func (p *pool) Opened(c *loop.Conn) {
	p.remove(c)
	p.put(c)
}

func (p *pool) dial(u *upstreamSide) *loop.Conn {
	return p.endpoint.Dial(p.loop, upstream.HTTP1, u)
}

// serveWaiting assigns connections to waiting requests until no connection is available.
func (p *pool) serveWaiting() {
	for len(p.waiting) > 0 {
		u := p.waiting[0]
		if !p.connect(u, false) {
			p.waitTimer.Set(waitInterval)
			return
		}
		p.dequeue(u)
		u.relay.Connected()
	}
}

// dequeue removes u from the waiting requests.
func (p *pool) dequeue(u *upstreamSide) {
	if i := slices.Index(p.waiting, u); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.endpoint.Cluster().Unwait()
}

// put returns a connection to the pool. The connection is ready for another request.
func (p *pool) put(c *loop.Conn) {
	if p.retired || p.loop.Stopping() {
		p.close(c)
		return
	}
	c.SetHandler(p)
	c.ResumeReading() // it may have been paused for the previous client
	setTimer(c, idleTimer, p.endpoint.Cluster().Config().IdleTimeout)
	p.free = append(p.free, c)
	p.serveWaiting()
}

// close closes a connection after its queued bytes are written.
func (p *pool) close(c *loop.Conn) {
	c.SetHandler(p)
	c.Close()
}

// abort resets a connection.
func (p *pool) abort(c *loop.Conn) {
	c.SetHandler(p)
	c.Abort(nil)
}

// remove removes a connection that no request uses.
func (p *pool) remove(c *loop.Conn) {
	if i := slices.Index(p.free, c); i >= 0 {
		p.free = slices.Delete(p.free, i, i+1)
	}
	if i := slices.Index(p.opening, c); i >= 0 {
		p.opening = slices.Delete(p.opening, i, i+1)
	}
}

// closed counts a connection that has ended.
func (p *pool) closed() {
	p.endpoint.Disconnect()
	p.serveWaiting()
}

// Data aborts a free connection: the server sent bytes that no request asked for.
func (p *pool) Data(c *loop.Conn, b []byte) int {
	p.remove(c)
	c.Abort(nil)
	return len(b)
}

// HalfClosed closes a free connection whose server has closed its side.
func (p *pool) HalfClosed(c *loop.Conn) {
	p.remove(c)
	c.Close()
}

// Timer closes a connection that has been free for longer than the idle timeout.
func (p *pool) Timer(c *loop.Conn, _ int) { p.HalfClosed(c) }

// Closed removes a connection that is closed.
func (p *pool) Closed(c *loop.Conn, _ error) {
	p.remove(c)
	p.closed()
}

// Shutdown closes a free connection.
func (p *pool) Shutdown(c *loop.Conn) { p.HalfClosed(c) }

// Retire closes the free connections immediately and the others after their current response.
func (p *pool) Retire() {
	p.retired = true
	for _, c := range slices.Concat(p.free, p.opening) {
		c.Close()
	}
	clear(p.free)
	clear(p.opening)
	p.free, p.opening = p.free[:0], p.opening[:0]
}

// Connector opens the server's side of requests in HTTP/1.1. All Connectors of this protocol share the connections of
// a loop. Any goroutine may call Use.
type Connector struct {
	limits atomic.Pointer[wire.Limits] // limits of responses
	loops  []*connectorLoop
}

var _ exchange.Connector = (*Connector)(nil)

// connectorLoop is the part of a Connector that belongs to one loop. Only that loop uses it.
type connectorLoop struct {
	connector *Connector
	free      bufpool.List[upstreamSide]
	heads     bufpool.List[wire.Head] // free ones: a request that waits for its response needs none
	scratch   []byte                  // buffer for building request heads
	edit      wire.RequestEdit
	fields    neutralFields
}

// NewConnector creates a Connector for a loop group. loops is the number of loops.
func NewConnector(limits *wire.Limits, loops int) *Connector {
	c := &Connector{}
	for range loops {
		cl := &connectorLoop{connector: c}
		cl.fields.init()
		c.loops = append(c.loops, cl)
	}
	c.Use(limits)
	return c
}

// Use applies limits to responses that begin from now on. MaxBody is ignored: a response may have any length. Nil
// means defaults. Use copies limits.
func (c *Connector) Use(limits *wire.Limits) {
	l := wire.Limits{}
	if limits != nil {
		l = *limits
	}
	l.MaxBody = 0
	c.limits.Store(&l)
}

// Open assigns r a connection to r.Endpoint, or adds r to the requests that wait for one.
func (c *Connector) Open(r *exchange.Relay, fresh bool) (up exchange.Upstream, ready bool) {
	l := r.Loop()
	u := c.loops[l.Index()].get()
	u.relay, u.pool = r, poolOf(r.Endpoint, l)
	if !u.pool.assign(u, fresh) {
		u.release()
		return nil, false
	}
	return u, u.state != waiting
}

func (cl *connectorLoop) get() *upstreamSide {
	if u := cl.free.Take(); u != nil {
		return u
	}
	return &upstreamSide{owner: cl}
}

// getHead returns a Head for a response that begins.
func (cl *connectorLoop) getHead() *wire.Head {
	if h := cl.heads.Take(); h != nil {
		return h
	}
	return new(wire.Head)
}

func (cl *connectorLoop) putHead(h *wire.Head) {
	h.Reset()
	cl.heads.Put(h, maxFreeDownstreams)
}
