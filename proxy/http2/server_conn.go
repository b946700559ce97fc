package http2

import (
	"errors"
	"io"
	"os"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"

	wire "example.com/ferry/protocol/http2"
)

// serverConn is one connection to an endpoint. Its streams are the server's sides of the requests of many clients. A
// serverConn is never paused: each stream withholds its own window.
type serverConn struct {
	pool   *pool
	socket *loop.Conn
	http2  *wire.Conn
	state  serverState

	opened        bool // the connection was open
	used          bool // it has carried a request
	closeWhenIdle bool
	suspect       bool  // it carries the requests of suspects only
	retired       bool  // its account was exhausted
	peerClosed    bool  // the server has closed the connection
	err           error // why the connection is closed
	lost          int   // streams that the end of the connection has ended and that are not counted as its loss

	account account

	// Views that are lent to Relays during a call of streamEvents.
	head     responseHead
	trailers trailerFields

	liveness
}

// streamEvents gets the events of the streams of a serverConn.
type streamEvents serverConn

var (
	_ loop.Shutdowner = (*serverConn)(nil)
	_ wire.Handler    = (*streamEvents)(nil)
)

// newServerConn begins to connect to the endpoint of p. Streams may be opened at once: what they send is queued.
func newServerConn(p *pool, suspect bool) *serverConn {
	sc := &serverConn{pool: p, closeWhenIdle: p.loop.Stopping(), suspect: suspect}
	sc.usedAt = p.loop.Now()
	protocol := upstream.HTTP2
	if p.fallback != nil {
		protocol = upstream.Auto
	}
	sc.socket = p.endpoint.Dial(p.loop, protocol, sc)
	sc.socket.LimitQueue()
	sc.http2 = wire.NewClient(&clientConfig, (*streamEvents)(sc), sc.socket)
	return sc
}

// maxQueued is the number of queued bytes of a connection above which no stream is opened. Heads are queued even if the server
// does not read.
const maxQueued = 1 << 20

// canOpen reports whether another stream can be opened.
func (sc *serverConn) canOpen() bool {
	usable := sc.state == serverOpen || sc.state == serverConnecting && sc.pool.fallback == nil
	return usable && sc.http2.CanOpen() && sc.socket.Queued() < maxQueued
}

// proven reports whether the server cannot have closed the connection before now: the connection is being opened, or
// bytes were read from it a moment ago.
func (sc *serverConn) proven() bool {
	return sc.state == serverConnecting || sc.pool.loop.Now()-sc.readAt < provenFor
}

// Opened starts the checks of liveness. Requests are already queued, unless the server had to choose the protocol.
func (sc *serverConn) Opened(c *loop.Conn) {
	sc.opened = true
	if sc.pool.fallback != nil && upstream.Negotiated(c) != "h2" {
		sc.lose(errNotHTTP2)
		c.Abort(nil)
		sc.pool.fallBack()
		return
	}
	sc.enter(serverOpen)
	sc.readAt = sc.pool.loop.Now()
	sc.checkLiveness()
	sc.pool.serveWaiting()
	sc.closeIfUnused()
}

// Data processes frames of the server.
func (sc *serverConn) Data(_ *loop.Conn, p []byte) int {
	sc.readAt = sc.pool.loop.Now()
	n, err := sc.http2.Receive(p)
	if err != nil {
		sc.lose(err)
		sc.socket.Close() // GOAWAY says why, and is queued
		return len(p)
	}
	sc.startTicks()
	if len(sc.pool.waiting) > 0 {
		sc.pool.serveWaiting() // SETTINGS may allow more streams
	}
	return n
}

// Drained sends what waits in the queues of streams.
func (sc *serverConn) Drained(*loop.Conn) { sc.http2.Flush() }

// HalfClosed ends the connection: a server that closes its side accepts no frames either.
func (sc *serverConn) HalfClosed(c *loop.Conn) {
	sc.peerClosed = true
	sc.lose(io.ErrUnexpectedEOF)
	c.Close()
}

// Timer handles the timers of a connection.
func (sc *serverConn) Timer(_ *loop.Conn, which int) {
	switch which {
	case serverLivenessTimer:
		sc.checkLiveness()
	case serverTickTimer:
		sc.tick()
	}
}

// Shutdown closes the connection when its last stream has ended.
func (sc *serverConn) Shutdown(*loop.Conn) {
	sc.closeWhenIdle = true
	sc.closeIfUnused()
}

// Closed handles a connection that has ended or could not be opened.
func (sc *serverConn) Closed(_ *loop.Conn, err error) {
	sc.pool.endpoint.Disconnect()
	if sc.state != serverClosed {
		sc.peerClosed = sc.opened
		sc.lose(err)
	}
	sc.http2.Closed(err)
	if !sc.http2.PeerReady() && !sc.pool.connected() {
		sc.pool.failWaiting(sc.failure())
	}
	sc.pool.serveWaiting()
}

// lossOf describes the end of the connection to a request that was sent. The first of several says that the endpoint has failed. A suspect
// alone, or a client whose request has the connection for itself, may have caused the loss.
func (sc *serverConn) lossOf(stale bool) exchange.Failure {
	f := exchange.Failure{Cause: route.OnReset, Sent: true, Stale: stale, Blameless: sc.suspect || sc.retired}
	if !f.Blameless && sc.lost > 1 {
		f.Shared, sc.lost = true, 0
	}
	return f
}

// failure describes the end of the connection to a request of which nothing was sent.
func (sc *serverConn) failure() exchange.Failure {
	if sc.opened {
		return exchange.Failure{Cause: route.OnReset}
	}
	return exchange.Failure{Cause: route.OnConnectFailure, Err: sc.err, TimedOut: errors.Is(sc.err, os.ErrDeadlineExceeded)}
}

// lose ends all streams, because the connection has ended. The requests may be sent again on other connections. It may not
// be called within an event of a stream.
func (sc *serverConn) lose(err error) {
	if sc.state == serverClosed {
		return
	}
	sc.err, sc.lost = err, sc.http2.Streams()
	sc.enter(serverClosed)
	sc.pool.remove(sc)
	sc.http2.Closed(err)
}

var errNotHTTP2 = errors.New("http2: the server has chosen HTTP/1.1")

// closeIfUnused closes a connection that has no streams and gets no more.
func (sc *serverConn) closeIfUnused() {
	if sc.http2.Streams() > 0 {
		return
	}
	if sc.state == serverDraining || len(sc.pool.waiting) == 0 && (sc.closeWhenIdle || sc.pool.retired) {
		sc.close()
	}
}

// close closes a connection without streams. GOAWAY tells the server that no stream is missing.
func (sc *serverConn) close() {
	if sc.state == serverClosed {
		return
	}
	sc.enter(serverClosed)
	sc.pool.remove(sc)
	sc.http2.GoAway(wire.NoError)
	sc.socket.Close()
}

// openStream opens a stream. canOpen must be true.
func (sc *serverConn) openStream() *wire.Stream {
	now := sc.pool.loop.Now()
	if sc.http2.Streams() == 0 {
		sc.silentSince = now
	}
	sc.used, sc.usedAt, sc.pingGap = true, now, 0
	return sc.http2.Open()
}

// afterStream closes a connection that is not needed any more, or gives the place of an ended stream to a request that
// waits.
func (sc *serverConn) afterStream() {
	if sc.state == serverClosed {
		return
	}
	sc.closeIfUnused()
	if len(sc.pool.waiting) > 0 {
		sc.pool.serveWaiting()
	}
}

// upstreamOf returns the server's side of the request of s.
func upstreamOf(s *wire.Stream) *upstreamSide { return s.User.(*upstreamSide) }

func (e *streamEvents) conn() *serverConn { return (*serverConn)(e) }

// Headers handles the head of a response, an interim response, or trailers.
func (e *streamEvents) Headers(s *wire.Stream, h *wire.Head, end bool) {
	sc, u := e.conn(), upstreamOf(s)
	sc.silentSince = sc.readAt
	if h.Trailers {
		sc.trailers = trailerFields{h}
		u.complete(&sc.trailers)
		return
	}
	sc.head = responseHead{h}
	u.handleHead(&sc.head, end)
}

// Data handles a piece of the body of a response.
func (e *streamEvents) Data(s *wire.Stream, p []byte, end bool) {
	e.silentSince = e.readAt
	upstreamOf(s).handleBody(p, end)
}

// Reset handles a stream that ended without a complete response.
func (e *streamEvents) Reset(s *wire.Stream, why wire.StreamError) {
	upstreamOf(s).handleReset(why)
}

// Writable resumes the request of a stream.
func (e *streamEvents) Writable(s *wire.Stream) { upstreamOf(s).relay.UpstreamDrained() }

// Sent does nothing: a request whose last byte waits for a window ends with its response.
func (e *streamEvents) Sent(*wire.Stream) {}

// GoAway takes no more requests: the server is about to close the connection. The streams that the server has accepted
// continue.
func (e *streamEvents) GoAway(uint32, wire.Code) {
	sc := e.conn()
	if sc.state == serverOpen {
		sc.enter(serverDraining)
	}
	sc.closeIfUnused()
}
