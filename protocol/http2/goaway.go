package http2

import "encoding/binary"

// goAwayState is the progress of GOAWAY in both directions. RFC 9113, section 6.8.
//
//	sent:     nothing ──► announced (server: 2^31-1) ──► final (last id)
//	received: nothing ──► received
type goAwayState struct {
	announced bool   // this side opens no streams
	final     bool   // streams of the peer above last are ignored
	last      uint32 // set with final
	received  bool
	peerLast  uint32 // set with received
}

// limit returns the highest id that this side may still promise to process.
func (g *goAwayState) limit() uint32 {
	if g.final {
		return g.last
	}
	return maxStreamID
}

// GoAway ends the connection gracefully. With NoError, the first call of a server sends GOAWAY with 2^31-1: the client opens no
// further streams, and streams on their way are accepted. The second call, about a round trip later, sends GOAWAY with the
// last id: later streams are ignored. A client sends its final GOAWAY with the first call. Another code than NoError also sends
// the final GOAWAY. Streams that are open continue. The driver closes the connection once Streams returns 0.
func (c *Conn) GoAway(code Code) {
	if c.phase == failed || c.goAway.final {
		return
	}
	if !c.client && code == NoError && !c.goAway.announced {
		c.goAway.announced = true
		c.writeGoAway(maxStreamID, code)
		return
	}
	c.goAway.announced, c.goAway.final, c.goAway.last = true, true, c.lastID
	c.writeGoAway(c.lastID, code)
}

// Draining reports whether this side has sent GOAWAY.
func (c *Conn) Draining() bool { return c.goAway.announced }

// PeerGoneAway reports whether the peer has sent GOAWAY.
func (c *Conn) PeerGoneAway() bool { return c.goAway.received }

func (c *Conn) writeGoAway(last uint32, code Code) {
	p := c.control(8, frameGoAway, 0, 0)
	binary.BigEndian.PutUint32(p, last)
	binary.BigEndian.PutUint32(p[4:], uint32(code))
	c.writeControl(p)
}

// receiveGoAway ends the streams of this side that the peer has not processed. RFC 9113, section 6.8.
func (c *Conn) receiveGoAway(h frameHeader, p []byte) *ConnError {
	switch {
	case h.stream != 0:
		return c.fail(ProtocolError, "GOAWAY on a stream")
	case len(p) < 8:
		return c.fail(FrameSizeError, "GOAWAY of a wrong length")
	}
	last := binary.BigEndian.Uint32(p) & maxStreamID
	code := Code(binary.BigEndian.Uint32(p[4:]))
	if c.goAway.received {
		if err := c.spend(AbuseSettings); err != nil {
			return err
		}
		last = min(last, c.goAway.peerLast) // an endpoint must not increase it
	}
	c.goAway.received, c.goAway.peerLast = true, last
	if c.client {
		for s := c.refusedBy(last); s != nil; s = c.refusedBy(last) {
			c.endStream(s, receiveReset, StreamError{Code: RefusedStream, Remote: true, Refused: true})
		}
	}
	c.handler.GoAway(last, code)
	return nil
}

// refusedBy returns a stream of this side that GOAWAY with the last id ends, or nil. Streams without an id cannot get one any more.
func (c *Conn) refusedBy(last uint32) *Stream {
	for s := c.streams.all; s != nil; s = s.allNext {
		if s.id > last || s.state == idle {
			return s
		}
	}
	return nil
}
