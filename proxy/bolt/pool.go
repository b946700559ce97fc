package bolt

import (
	"slices"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/upstream"
)

// pool has the connections of one loop to one endpoint. All listeners share them.
type pool struct {
	endpoint  *upstream.Endpoint
	loop      *loop.Loop
	loopState *loopState // of the listener that made the pool
	byDialect [len(dialects)]dialectConns
	retired   bool
}

// dialectConns has the connections of one dialect. A connection never changes its dialect.
type dialectConns struct {
	shared    []*upstreamConn // carry the whole frames of many requests
	exclusive []*upstreamConn // carry one large request at a time, until its response
}

var _ upstream.Pool = (*pool)(nil)

// poolOf returns the loop's pool for an endpoint.
func poolOf(e *upstream.Endpoint, ls *loopState) *pool {
	if p, ok := e.Pool(ls.loop.Index(), upstream.Bolt).(*pool); ok {
		return p
	}
	p := &pool{endpoint: e, loop: ls.loop, loopState: ls, retired: e.Retired()}
	e.SetPool(ls.loop.Index(), upstream.Bolt, p)
	return p
}

// sharedConn returns a connection for a whole frame: one with room, else a new one, else the one with the fewest requests, or nil if
// there can be none. closeWhenIdle says that a new one is closed as soon as it is idle.
func (p *pool) sharedConn(d wire.Dialect, closeWhenIdle bool) *upstreamConn {
	conns, cfg := &p.byDialect[dialectIndex(d)], p.endpoint.Cluster().Config()
	var best *upstreamConn
	for _, u := range conns.shared {
		switch {
		case u.retiring:
		case u.connected && !u.paused && !u.socket.Full() && u.load() < cfg.Streams:
			return u
		case best == nil || u.better(best):
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

// better reports whether u is the better choice than other if none has room.
func (u *upstreamConn) better(other *upstreamConn) bool {
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
		return nil // the last connection that limits.connections allows is left to whole frames
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
	u := &upstreamConn{pool: p, dialect: d, closeWhenIdle: closeWhenIdle}
	u.socket = p.loop.Dial(p.endpoint.Addr(), p.endpoint.Cluster().Config().ConnectTimeout, u)
	return u
}

// Retire closes each connection when it is idle.
func (p *pool) Retire() {
	p.retired = true
	for u := range p.all {
		u.closeIfDone()
	}
}

// all yields the connections.
func (p *pool) all(yield func(*upstreamConn) bool) {
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

// remove removes a connection that was closed.
func (p *pool) remove(u *upstreamConn) {
	conns := &p.byDialect[dialectIndex(u.dialect)]
	is := func(other *upstreamConn) bool { return other == u }
	conns.shared = slices.DeleteFunc(conns.shared, is)
	conns.exclusive = slices.DeleteFunc(conns.exclusive, is)
}
