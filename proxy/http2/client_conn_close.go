package http2

import (
	"errors"

	"example.com/ferry/loop"

	wire "example.com/ferry/protocol/http2"
)

// Shutdown closes the connection after its outstanding responses.
func (cc *clientConn) Shutdown(c *loop.Conn) {
	if cc.state != serving {
		return
	}
	cc.enter(goingAway)
	cc.h2.GoAway(wire.NoError)
	cc.h2.Ping()
	c.SetTimer(closeTimer, goAwayTime)
}

// lastGoAway names the last stream that is served.
func (cc *clientConn) lastGoAway() {
	cc.enter(lastStreams)
	cc.h2.GoAway(wire.NoError)
	cc.streamsChanged()
}

// streamsChanged is called when a stream has ended.
func (cc *clientConn) streamsChanged() {
	switch {
	case cc.state == closing || cc.h2.Streams() > 0:
	case cc.state == lastStreams:
		cc.close()
	default:
		setTimer(cc.conn, idleTimer, cc.settings().IdleTimeout)
	}
}

// idleExpired closes a connection that has no request. It stays open while the client still reads its last response.
func (cc *clientConn) idleExpired() {
	switch {
	case cc.stillReads():
		setTimer(cc.conn, idleTimer, cc.settings().BodyTimeout)
	case cc.state == closing:
		cc.conn.Close()
	default:
		cc.Shutdown(cc.conn)
	}
}

// close ends the proxy's side after the queued bytes, and waits for the client to end its side. An earlier close of the
// socket could reset the connection before the client has read the queue.
func (cc *clientConn) close() {
	if cc.state == closing {
		return
	}
	cc.enter(closing)
	c := cc.conn
	c.StopTimer(headTimer)
	c.CloseWrite()
	cc.unsent = 0
	c.SetTimer(closeTimer, lingerTime)
	setTimer(c, idleTimer, cc.settings().BodyTimeout)
}

// moreDiscarded is how many bytes beside DATA a client may send until it has read the last GOAWAY.
const moreDiscarded = 64 << 10

// discard discards bytes that arrive while closing. A client that has sent more than the connection's window allows, and still
// has not read the end, is flooding: it is reset.
func (cc *clientConn) discard(p []byte) int {
	cc.discarded += len(p)
	if cc.discarded > cc.window+moreDiscarded {
		cc.conn.Abort(errFlood)
	}
	return len(p)
}

var errFlood = errors.New("http2: the client does not stop sending after GOAWAY")

// closeExpired takes the next step of closing.
func (cc *clientConn) closeExpired() {
	switch {
	case cc.state == goingAway:
		cc.lastGoAway() // the client does not respond to PING
	case cc.state == closing && cc.conn.Unsent() > 0:
		cc.conn.SetTimer(closeTimer, lingerTime)
	case cc.state == closing:
		cc.conn.Close()
	}
}

// stillReads reports whether the client is still reading: it has acknowledged bytes since the previous call. The first
// call reports true if any byte is not acknowledged yet.
func (cc *clientConn) stillReads() bool {
	unsent := cc.conn.Unsent()
	progress := unsent > 0 && (cc.unsent == 0 || unsent < cc.unsent)
	cc.unsent = unsent
	return progress
}
