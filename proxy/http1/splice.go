package http1

import (
	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"

	wire "example.com/ferry/protocol/http1"
)

// leastSplice is how many bytes of a body must follow for the loop to pass them on without a copy. Fewer cost less when they are read: the
// last read also tells that nothing follows.
const leastSplice = 32 << 10

// largeRead is how many bytes a read must have brought for the next one to be a splice.
const largeRead = 16 << 10

// splices reports whether the loop may pass on the rest of a body, after a read of n bytes.
func splices(b *wire.Body, n int) bool { return n >= largeRead && b.Known() >= leastSplice }

var (
	_ loop.Splicer          = (*upstreamSide)(nil)
	_ loop.Splicer          = (*downstreamSide)(nil)
	_ exchange.ResponseSink = (*downstreamSide)(nil)
	_ exchange.RequestSink  = (*upstreamSide)(nil)
)

// SpliceTo returns where the rest of the response's body goes.
func (u *upstreamSide) SpliceTo(*loop.Conn) (*loop.Conn, int64) {
	if u.state != receivingBody || !u.framed || u.body.Known() < leastSplice {
		return nil, 0
	}
	return u.relay.ResponseConn(), u.body.Known()
}

// Spliced counts bytes of the response's body that the loop has passed on.
func (u *upstreamSide) Spliced(c *loop.Conn, n int) {
	u.body.Advance(int64(n))
	pause := u.relay.ResponseSpliced(n)
	switch {
	case u.body.Done():
		u.complete(!c.Readable())
	case pause:
		c.PauseReading()
	}
}

// RequestConn returns the server's connection once a part of the request has been sent. Before that, the request may still move to another
// connection.
func (u *upstreamSide) RequestConn() *loop.Conn {
	if u.inChunks || u.state == waiting || u.state == connecting || u.unsolicited() {
		return nil
	}
	return u.conn
}

// RequestSpliced counts bytes of the request's body.
func (u *upstreamSide) RequestSpliced(n int) { u.bytesWritten += int64(n) }

// SpliceTo returns where the rest of the request's body goes.
func (d *downstreamSide) SpliceTo(*loop.Conn) (*loop.Conn, int64) {
	if d.state != sendingBody || !d.framed || d.body.Known() < leastSplice {
		return nil, 0
	}
	return d.relay.RequestConn(), d.body.Known()
}

// Spliced counts bytes of the request's body that the loop has passed on.
func (d *downstreamSide) Spliced(c *loop.Conn, n int) {
	d.body.Advance(int64(n))
	d.addBody(n)
	pause := d.relay.RequestSpliced(n)
	switch {
	case d.body.Done():
		d.requestWhole()
	case pause:
		c.PauseReading()
	}
}

// ResponseConn returns the client's connection if the response's body passes as it was received.
func (d *downstreamSide) ResponseConn() *loop.Conn {
	if d.framing != asReceived {
		return nil
	}
	return d.client
}

// ResponseSpliced counts bytes of the response's body.
func (d *downstreamSide) ResponseSpliced(n int) { d.relay.Out += int64(n) }
