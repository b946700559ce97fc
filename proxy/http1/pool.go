package http1

import (
	"slices"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/upstream"
)

// waitTime is how often requests that wait for a connection are looked at: one that another loop has closed makes room too.
const waitTime = 20 * time.Millisecond

// pool is the connections of one loop to one endpoint, and the handler of those that are unused. Each is one request's at a
// time. The one used last is taken first, so that those beyond need become old and are closed.
type pool struct {
	loop.Base
	loop     *loop.Loop
	endpoint *upstream.Endpoint
	free     []*loop.Conn
	queue    []*session // that wait for a connection, the first one first
	wait     *loop.Timer
	retired  bool
}

var (
	_ upstream.Pool   = (*pool)(nil)
	_ loop.Shutdowner = (*pool)(nil)
)

// poolOf returns the loop's pool for an endpoint.
func poolOf(e *upstream.Endpoint, l *loop.Loop) *pool {
	if p, ok := e.Pool(l.Index()).(*pool); ok {
		return p
	}
	p := &pool{loop: l, endpoint: e, retired: e.Retired()}
	p.wait = l.NewTimer(p.serve)
	e.SetPool(l.Index(), p)
	return p
}

// get gives s a connection, or a place in the queue. It returns false if too many wait already.
func (p *pool) get(s *session) bool {
	switch {
	case len(p.free) > 0 && !s.replayed:
		s.take(p.pop(), true)
	case p.endpoint.Connect():
		s.take(p.dial(s), false)
	case !p.endpoint.Cluster().Wait():
		return false
	default:
		s.waiting = true
		p.queue = append(p.queue, s)
		p.wait.Set(waitTime)
	}
	return true
}

func (p *pool) pop() *loop.Conn {
	n := len(p.free) - 1
	c := p.free[n]
	p.free[n] = nil
	p.free = p.free[:n]
	c.StopTimer(idleTimer)
	return c
}

func (p *pool) dial(s *session) *loop.Conn {
	return p.loop.Dial(p.endpoint.Addr(), p.endpoint.Cluster().Config().ConnectTimeout, &s.back)
}

// serve gives connections to those that wait for one, as far as there are any.
func (p *pool) serve() {
	for len(p.queue) > 0 {
		s := p.queue[0]
		switch {
		case len(p.free) > 0:
			p.dequeue(s)
			s.granted(p.pop(), true)
		case p.endpoint.Connect():
			p.dequeue(s)
			s.granted(p.dial(s), false)
		default:
			p.wait.Set(waitTime)
			return
		}
	}
}

// dequeue takes s out of the queue.
func (p *pool) dequeue(s *session) {
	if i := slices.Index(p.queue, s); i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
	}
	s.waiting = false
	p.endpoint.Cluster().Unwait()
}

// put takes back a connection that is ready for another request.
func (p *pool) put(c *loop.Conn) {
	if p.retired {
		p.close(c)
		return
	}
	c.SetHandler(p)
	c.ResumeReading() // it may have been held back for its last client
	setTimer(c, idleTimer, p.endpoint.Cluster().Config().IdleTimeout)
	p.free = append(p.free, c)
	p.serve()
}

// close closes a connection behind what is written to it.
func (p *pool) close(c *loop.Conn) {
	c.SetHandler(p)
	c.Close()
}

// abort resets a connection.
func (p *pool) abort(c *loop.Conn) {
	c.SetHandler(p)
	c.Abort(nil)
}

// remove takes a connection out of the free ones.
func (p *pool) remove(c *loop.Conn) {
	if i := slices.Index(p.free, c); i >= 0 {
		p.free = slices.Delete(p.free, i, i+1)
	}
}

// gone counts a connection that has ended.
func (p *pool) gone() {
	p.endpoint.Disconnect()
	p.serve()
}

// Data is what no request has asked for.
func (p *pool) Data(c *loop.Conn, b []byte) int {
	p.remove(c)
	c.Abort(nil)
	return len(b)
}

// HalfClosed is a server that is tired of the connection.
func (p *pool) HalfClosed(c *loop.Conn) {
	p.remove(c)
	c.Close()
}

// Timer closes a connection that nobody has used for long.
func (p *pool) Timer(c *loop.Conn, _ int) { p.HalfClosed(c) }

// Closed forgets a connection.
func (p *pool) Closed(c *loop.Conn, _ error) {
	p.remove(c)
	p.gone()
}

// Shutdown closes an unused connection.
func (p *pool) Shutdown(c *loop.Conn) { p.HalfClosed(c) }

// Retire closes the unused connections, and each of the others behind its request.
func (p *pool) Retire() {
	p.retired = true
	for _, c := range p.free {
		c.Close()
	}
	clear(p.free)
	p.free = p.free[:0]
}
