package bolt

import (
	"slices"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/upstream"
)

// pool has the connections of one loop to one endpoint. All listeners share the pool.
type pool struct {
	endpoint  *upstream.Endpoint
	loop      *loop.Loop
	loopState *loopState // belongs to the listener that created the pool
	byDialect [len(dialects)]dialectConns
	retired   bool
}

// dialectConns has the connections of one dialect. The dialect of a connection never changes.
type dialectConns struct {
	shared    []*upstreamConn // each carries the whole frames of many requests
	exclusive []*upstreamConn // each carries one large request at a time, until its response has arrived
}

var _ upstream.Pool = (*pool)(nil)

// poolOf returns the loop's pool for endpoint e.
func poolOf(e *upstream.Endpoint, ls *loopState) *pool {
	if p, ok := e.Pool(ls.loop.Index(), upstream.Bolt).(*pool); ok {
		return p
	}
	p := &pool{endpoint: e, loop: ls.loop, loopState: ls, retired: e.Retired()}
	e.SetPool(ls.loop.Index(), upstream.Bolt, p)
	return p
}

// sharedConn returns a connection for a whole frame. It prefers a connection with room, then a new connection, then
// the connection with the fewest requests. It returns nil if there can be none. closeWhenIdle means that a new
// connection is closed as soon as it is idle.
func (p *pool) sharedConn(d wire.Dialect, closeWhenIdle bool) *upstreamConn {
	conns, cfg := &p.byDialect[dialectIndex(d)], p.endpoint.Cluster().Config()
	var best *upstreamConn
	for _, u := range conns.shared {
		switch {
		case u.retiring:
		case u.connected && !u.paused && !u.socket.Full() && u.load() < cfg.Streams:
			return u
		case best == nil || u.betterThan(best):
			best = u
		}
	}
	if best != nil && (len(conns.shared) >= cfg.Connections || !best.connected && best.load() < cfg.Streams) {
		return best
	}
	if u := p.dial(d, closeWhenIdle); u != nil {
		conns.shared = append(conns.shared, u)
		return u
	}
	return best
}

// betterThan reports whether u is a betterThan choice than other when no connection has room.
func (u *upstreamConn) betterThan(other *upstreamConn) bool {
	if u.paused != other.paused {
		return other.paused
	}
	return u.load() < other.load()
}

// exclusiveConn returns an idle connection for a large frame, or nil if there can be none.
func (p *pool) exclusiveConn(d wire.Dialect, closeWhenIdle bool) *upstreamConn {
	conns := &p.byDialect[dialectIndex(d)]
	for _, u := range conns.exclusive {
		if u.idle() && !u.retiring && !u.socket.Full() {
			return u
		}
	}
	if len(conns.shared) == 0 && p.endpoint.ConnectionsLeft() == 1 && p.endpoint.Cluster().Config().Limits.Connections > 1 {
		return nil // the last connection that limits.connections allows is reserved for whole frames
	}
	u := p.dial(d, closeWhenIdle)
	if u != nil {
		conns.exclusive = append(conns.exclusive, u)
	}
	return u
}

func (p *pool) dial(d wire.Dialect, closeWhenIdle bool) *upstreamConn {
	if !p.endpoint.Connect() {
		return nil
	}
	u := &upstreamConn{pool: p, dialect: d, closeWhenIdle: closeWhenIdle || p.loop.Stopping()}
	u.socket = p.endpoint.Dial(p.loop, upstream.Bolt, u)
	return u
}

// Retire closes each connection when it becomes idle.
func (p *pool) Retire() {
	p.retired = true
	for u := range p.allConns {
		u.closeIfDone()
	}
}

// allConns yields allConns connections of the pool.
func (p *pool) allConns(yield func(*upstreamConn) bool) {
	for i := range p.byDialect {
		for _, list := range [...][]*upstreamConn{p.byDialect[i].shared, p.byDialect[i].exclusive} {
			for _, u := range list {
				if !yield(u) {
					return
				}
			}
		}
	}
}

// remove removes a closed connection.
func (p *pool) remove(u *upstreamConn) {
	conns := &p.byDialect[dialectIndex(u.dialect)]
	is := func(other *upstreamConn) bool { return other == u }
	conns.shared = slices.DeleteFunc(conns.shared, is)
	conns.exclusive = slices.DeleteFunc(conns.exclusive, is)
}
