package http1

import (
	"slices"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/upstream"
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
	case len(p.free) > 0 && !fresh:
		u.setConn(p.takeFree(), true)
	case len(p.opening) > 0:
		u.setConn(p.takeOpening(), false)
	case p.endpoint.Connect():
		u.setConn(p.dial(u), false)
	case !p.endpoint.Cluster().Wait():
		return false
	default:
		u.enter(waiting)
		p.waiting = append(p.waiting, u)
		p.waitTimer.Set(waitInterval)
	}
	return true
}

func (p *pool) takeFree() *loop.Conn {
	n := len(p.free) - 1
	c := p.free[n]
	p.free[n] = nil
	p.free = p.free[:n]
	c.StopTimer(idleTimer)
	return c
}

func (p *pool) takeOpening() *loop.Conn {
	n := len(p.opening) - 1
	c := p.opening[n]
	p.opening[n] = nil
	p.opening = p.opening[:n]
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
		switch {
		case len(p.free) > 0:
			p.dequeue(u)
			u.setConn(p.takeFree(), true)
		case len(p.opening) > 0:
			p.dequeue(u)
			u.setConn(p.takeOpening(), false)
		case p.endpoint.Connect():
			p.dequeue(u)
			u.setConn(p.dial(u), false)
		default:
			p.waitTimer.Set(waitInterval)
			return
		}
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
