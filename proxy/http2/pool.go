package http2

import (
	"slices"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// waitInterval is how often the pool retries for requests that wait for a stream. A polling interval is needed because
// a connection closed by another loop also makes room.
const waitInterval = 20 * time.Millisecond

// provenFor is how long a connection counts as working after bytes were read from it.
const provenFor = time.Second

// pool has the connections of one loop to one endpoint. All listeners share the pool.
type pool struct {
	endpoint  *upstream.Endpoint
	loop      *loop.Loop
	conns     []*serverConn   // connections that are not closed, oldest first
	waiting   []*upstreamSide // requests without a stream, oldest first
	leaving   []*upstreamSide // rest of the requests that drainWaiting handles; nil if it does not run
	waitTimer *loop.Timer
	retired   bool
	blame     blame

	// fallback opens connections to servers that choose HTTP/1.1. It is nil unless the cluster's protocol is auto. Streams
	// are then opened only after the server has chosen HTTP/2.
	fallback exchange.Connector
}

var _ upstream.Pool = (*pool)(nil)

// poolOf returns the loop's pool for endpoint e.
func poolOf(e *upstream.Endpoint, l *loop.Loop) *pool {
	if p, ok := e.Pool(l.Index(), upstream.HTTP2).(*pool); ok {
		return p
	}
	p := &pool{endpoint: e, loop: l, retired: e.Retired()}
	p.waitTimer = l.NewTimer(p.serveWaiting)
	e.SetPool(l.Index(), upstream.HTTP2, p)
	return p
}

// assign gives u a stream or adds it to the waiting requests. It returns false if too many requests wait already.
func (p *pool) assign(u *upstreamSide, fresh bool) bool {
	u.suspect = p.blame.anySuspect(p.loop.Now()) && p.blame.isSuspect(u.relay.Client(), p.loop.Now())
	if fresh || !p.othersWait(u) {
		if sc := p.pick(u, fresh); sc != nil {
			u.open(sc)
			return true
		}
	}
	if !p.endpoint.Cluster().Wait() {
		return false
	}
	u.enter(waiting)
	p.waiting = append(p.waiting, u)
	p.waitTimer.Set(waitInterval)
	return true
}

// othersWait reports whether requests wait for the connections that u would use.
func (p *pool) othersWait(u *upstreamSide) bool {
	return slices.ContainsFunc(p.waiting, func(other *upstreamSide) bool { return other.suspect == u.suspect })
}

// pick returns a connection for another stream, for u. It prefers a connection with room, then a new connection, then the
// connection with the fewest streams. It returns nil if there is none. fresh excludes connections that the server may
// have closed without the proxy's noticing. Suspects have one connection of their own.
func (p *pool) pick(u *upstreamSide, fresh bool) *serverConn {
	suspect := u.suspect
	if u.tunnel {
		return p.pickForTunnel(suspect, u.size)
	}
	cfg := p.endpoint.Cluster().Config()
	var best *serverConn
	used := 0 // connections that count against the configured number
	for _, sc := range p.conns {
		if sc.suspect == suspect && !sc.retired {
			used++
		}
		switch {
		case sc.suspect != suspect || !sc.canOpen() || !sc.takesHead(u.size) || fresh && !sc.proven():
		case sc.http2.Streams() < cfg.Streams && (sc.state == serverConnecting || !sc.socket.Full()):
			return sc
		case best == nil || sc.http2.Streams() < best.http2.Streams():
			best = sc
		}
	}
	limit := cfg.Connections
	if suspect {
		limit = 1
	}
	if fresh {
		limit *= 2 // the connections that the server has closed still count
	}
	if used < limit && !p.negotiating() && (u.size <= anyHead || !p.opening(suspect)) {
		if sc := p.dial(suspect); sc != nil && sc.canOpen() && sc.takesHead(u.size) {
			return sc
		}
	}
	return best
}

// negotiating reports whether a server is about to choose the protocol. Requests wait for that, so they open no further
// connection.
func (p *pool) negotiating() bool {
	return p.fallback != nil && slices.ContainsFunc(p.conns, func(sc *serverConn) bool { return sc.state == serverConnecting })
}

// opening reports whether a server is about to send its SETTINGS, on a connection of suspects or of others.
func (p *pool) opening(suspect bool) bool {
	return slices.ContainsFunc(p.conns, func(sc *serverConn) bool { return sc.suspect == suspect && sc.canOpen() && !sc.http2.PeerReady() })
}

// pickForTunnel returns a connection whose server accepts extended CONNECT (RFC 8441). The server says so in its
// SETTINGS, so a connection that is not open yet is of no use.
func (p *pool) pickForTunnel(suspect bool, size int) *serverConn {
	usable := false
	for _, sc := range p.conns {
		if sc.suspect != suspect || sc.retired {
			continue
		}
		usable = true
		if sc.canOpen() && sc.takesHead(size) && sc.http2.PeerReady() && sc.http2.PeerExtendedConnect() {
			return sc
		}
	}
	if !usable {
		p.dial(suspect)
	}
	return nil
}

// anyHead is the size of a head that a stream is opened for before the server has said which heads it accepts. No known server accepts less.
const anyHead = 8 << 10

// takesHead reports whether the server accepts a head of that size. What it would not accept is not sent: many servers end the connection, and with it the
// requests of other clients.
func (sc *serverConn) takesHead(size int) bool {
	if !sc.http2.PeerReady() {
		return size <= anyHead
	}
	most := sc.http2.PeerMaxHeader()
	return most == 0 || size <= most
}

// refusesHead reports whether a server has said in its SETTINGS that it does not accept a head of that size.
func (p *pool) refusesHead(size int) bool {
	return slices.ContainsFunc(p.conns, func(sc *serverConn) bool { return sc.http2.PeerReady() && !sc.takesHead(size) })
}

// refusesTunnels reports whether a server has said in its SETTINGS that it does not accept extended CONNECT.
func (p *pool) refusesTunnels() bool {
	return slices.ContainsFunc(p.conns, func(sc *serverConn) bool {
		return sc.http2.PeerReady() && !sc.http2.PeerExtendedConnect()
	})
}

// dial opens a connection. It returns nil if limits.connections does not allow one.
func (p *pool) dial(suspect bool) *serverConn {
	if !p.endpoint.Connect() {
		return nil
	}
	sc := newServerConn(p, suspect)
	p.conns = append(p.conns, sc)
	return sc
}

// serveWaiting gives streams to waiting requests until no stream is available. Requests of suspects and others do not wait for each other.
func (p *pool) serveWaiting() {
	blocked := [2]bool{} // requests of others; requests of suspects
	for i := 0; i < len(p.waiting); {
		u := p.waiting[i]
		kind := 0
		if u.suspect {
			kind = 1
		}
		if blocked[kind] {
			i++
			continue
		}
		sc := p.pick(u, false)
		switch {
		case sc != nil:
			p.dequeue(u)
			u.open(sc)
			u.relay.Connected()
			i = 0 // it may have changed the list
		case p.refusesHead(u.size):
			p.dequeue(u)
			relay := u.relay
			u.release()
			relay.HeadTooLarge()
			i = 0
		case u.tunnel && p.refusesTunnels():
			p.dequeue(u)
			u.relay.EndAttempt(upstream.Canceled) // the server is healthy
			u.fail(exchange.Failure{Cause: route.OnConnectFailure})
			i = 0
		default:
			blocked[kind] = true
		}
	}
	if len(p.waiting) > 0 {
		p.waitTimer.Set(waitInterval)
	}
}

// dequeue removes u from the waiting requests.
func (p *pool) dequeue(u *upstreamSide) {
	if i := slices.Index(p.waiting, u); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	} else if i := slices.Index(p.leaving, u); i >= 0 {
		p.leaving[i] = nil
	}
	p.endpoint.Cluster().Unwait()
}

// connected reports whether a connection is open, or about to be, on which streams may be opened.
func (p *pool) connected() bool {
	return slices.ContainsFunc(p.conns, func(sc *serverConn) bool { return sc.state == serverConnecting || sc.state == serverOpen })
}

// failWaiting ends the waiting requests, because no connection could be opened. The requests may be sent
// to other endpoints.
func (p *pool) failWaiting(f exchange.Failure) {
	p.drainWaiting(func(u *upstreamSide) { u.fail(f) })
}

// drainWaiting removes the waiting requests and calls f for each of them. f may cancel others of them, and add requests, for which
// f is not called.
func (p *pool) drainWaiting(f func(*upstreamSide)) {
	p.leaving, p.waiting = p.waiting, nil
	for i, u := range p.leaving {
		if u != nil {
			p.leaving[i] = nil
			p.endpoint.Cluster().Unwait()
			f(u)
		}
	}
	p.leaving = nil
}

// fallBack passes the waiting requests to the Connector of HTTP/1.1, because the server has chosen that.
func (p *pool) fallBack() {
	p.endpoint.ChoseHTTP1(p.loop.Now())
	p.drainWaiting(func(u *upstreamSide) {
		relay := u.relay
		u.release()
		relay.Replace(p.fallback.Open(relay, false))
	})
}

// remove removes a connection that is lost or about to be closed.
func (p *pool) remove(sc *serverConn) {
	if i := slices.Index(p.conns, sc); i >= 0 {
		p.conns = slices.Delete(p.conns, i, i+1)
	}
}

// Retire closes the idle connections immediately and the others after their last response.
func (p *pool) Retire() {
	p.retired = true
	p.closeUnused()
}

// closeUnused closes the connections that are not needed any more.
func (p *pool) closeUnused() {
	for i := len(p.conns) - 1; i >= 0; i-- { // a connection that is closed leaves the list
		p.conns[i].closeIfUnused()
	}
}
