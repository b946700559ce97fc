package bolt

import (
	"slices"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/upstream"
)

// pool is one loop's connections to one endpoint. All listeners whose routes lead there share them.
type pool struct {
	endpoint *upstream.Endpoint
	loop     *loop.Loop
	worker   *worker // that counts late answers
	lanes    [len(dialects)]lane
	retired  bool
}

// lane is the connections of one dialect, which each keeps from its first frame to its last.
type lane struct {
	shared    []*upstreamConn // by whole frames
	exclusive []*upstreamConn // each by one large request at a time, until its response
}

var _ upstream.Pool = (*pool)(nil)

// poolOf returns the loop's pool for an endpoint.
func poolOf(e *upstream.Endpoint, w *worker) *pool {
	if p, ok := e.Pool(w.loop.Index(), upstream.Bolt).(*pool); ok {
		return p
	}
	p := &pool{endpoint: e, loop: w.loop, worker: w, retired: e.Retired()}
	e.SetPool(w.loop.Index(), upstream.Bolt, p)
	return p
}

// shared returns a connection for a small frame: one with room, else a new one, else the one with least in flight, or nil if
// there can be none. brief says that a new one is to be closed as soon as it is not used.
func (p *pool) shared(d wire.Dialect, brief bool) *upstreamConn {
	lane, cfg := &p.lanes[place(d)], p.endpoint.Cluster().Config()
	var best *upstreamConn
	for _, u := range lane.shared {
		switch {
		case u.retiring:
		case u.open && !u.paused && !u.socket.Full() && u.load() < cfg.Streams:
			return u
		case best == nil || u.better(best):
			best = u
		}
	}
	if best != nil && (len(lane.shared) >= cfg.Connections || !best.open && best.load() < cfg.Streams) {
		return best
	}
	if u := p.dial(d, brief); u != nil {
		lane.shared = append(lane.shared, u)
		return u
	}
	return best
}

// better reports whether u is to be used rather than other, if there is none with room.
func (u *upstreamConn) better(other *upstreamConn) bool {
	if u.paused != other.paused {
		return other.paused
	}
	return u.load() < other.load()
}

// exclusive returns a connection with nothing in flight for a large frame, or nil if there can be none. A client that dies within
// its frame ends the connection, so no other request may wait for a response on it.
func (p *pool) exclusive(d wire.Dialect, brief bool) *upstreamConn {
	lane := &p.lanes[place(d)]
	for _, u := range lane.exclusive {
		if u.empty() && !u.retiring && !u.socket.Full() {
			return u
		}
	}
	if len(lane.shared) == 0 && p.endpoint.ConnectionsLeft() == 1 && p.endpoint.Cluster().Config().Limits.Connections > 1 {
		return nil // the last one there may be is left to small frames
	}
	u := p.dial(d, brief)
	if u != nil {
		lane.exclusive = append(lane.exclusive, u)
	}
	return u
}

func (p *pool) dial(d wire.Dialect, brief bool) *upstreamConn {
	if !p.endpoint.Connect() {
		return nil
	}
	u := &upstreamConn{pool: p, dialect: d, brief: brief}
	u.socket = p.loop.Dial(p.endpoint.Addr(), p.endpoint.Cluster().Config().ConnectTimeout, u)
	return u
}

// Retire ends the connections as soon as nothing is in flight on them.
func (p *pool) Retire() {
	p.retired = true
	for u := range p.all {
		u.settle()
	}
}

// all yields the connections.
func (p *pool) all(yield func(*upstreamConn) bool) {
	for i := range p.lanes {
		for _, list := range [...][]*upstreamConn{p.lanes[i].shared, p.lanes[i].exclusive} {
			for _, u := range list {
				if !yield(u) {
					return
				}
			}
		}
	}
}

// remove takes out a connection that was closed.
func (p *pool) remove(u *upstreamConn) {
	lane := &p.lanes[place(u.dialect)]
	is := func(other *upstreamConn) bool { return other == u }
	lane.shared = slices.DeleteFunc(lane.shared, is)
	lane.exclusive = slices.DeleteFunc(lane.exclusive, is)
}
