package http2

import "encoding/binary"

// Receive takes bytes of the peer and returns how many it consumed. It consumes whole frames; the payload of DATA is passed on as
// it arrives. The driver passes the unconsumed bytes, at most a frame of Config.MaxFrame, again, with more bytes after them. err is
// a *ConnError: GOAWAY is written, and the driver closes the connection once Output's queue is sent. DATA that waited for a
// window is sent before Receive returns. Receive must not be called by a Handler.
func (c *Conn) Receive(p []byte) (n int, err error) {
	c.reuse()
	c.depth++
	total := len(p)
	var failure *ConnError
	for failure == nil && c.phase != failed {
		used := 0
		switch {
		case c.phase == awaitingPreface:
			used, failure = c.receivePreface(p)
		case c.data.open:
			used, failure = c.receiveData(p)
		default:
			used, failure = c.receiveFrame(p)
		}
		p = p[used:]
		if used == 0 && failure == nil {
			break
		}
	}
	if failure == nil && c.phase != failed {
		c.flush()
	}
	c.depth--
	if c.phase == failed {
		n = total // the rest is of no use
	} else {
		n = total - len(p)
	}
	if c.err != nil {
		return n, c.err
	}
	return n, nil
}

// receivePreface checks the client's preface as soon as bytes arrive. RFC 9113, section 3.4.
func (c *Conn) receivePreface(p []byte) (used int, failure *ConnError) {
	n := min(len(p), len(preface))
	if string(p[:n]) != preface[:n] {
		return 0, c.fail(ProtocolError, "the connection does not begin with the preface of HTTP/2")
	}
	if n < len(preface) {
		return 0, nil
	}
	c.phase = awaitingSettings
	return n, nil
}

// receiveFrame handles one frame, if it is complete, or the beginning of a DATA frame. It returns 0 if more bytes must arrive.
func (c *Conn) receiveFrame(p []byte) (used int, failure *ConnError) {
	if len(p) < frameHeaderSize {
		return 0, nil
	}
	h := parseFrameHeader(p)
	switch {
	case h.length > c.cfg.MaxFrame:
		return 0, c.fail(FrameSizeError, "a frame that is larger than SETTINGS_MAX_FRAME_SIZE")
	case c.phase == awaitingSettings && (h.kind != frameSettings || h.has(flagAck)):
		return 0, c.fail(ProtocolError, "the first frame is not SETTINGS")
	case c.block.open && (h.kind != frameContinuation || h.stream != c.block.stream):
		return 0, c.fail(ProtocolError, "a frame within a field block that is not its CONTINUATION")
	case h.kind == frameData:
		return c.beginData(h, p)
	case len(p)-frameHeaderSize < h.length:
		return 0, nil
	}
	used = frameHeaderSize + h.length
	payload := p[frameHeaderSize:used]
	switch h.kind {
	case frameHeaders:
		failure = c.receiveHeaders(h, payload)
	case frameContinuation:
		failure = c.receiveContinuation(h, payload)
	case frameReset:
		failure = c.receiveReset(h, payload)
	case frameSettings:
		failure = c.receiveSettings(h, payload)
	case framePing:
		failure = c.receivePing(h, payload)
	case frameGoAway:
		failure = c.receiveGoAway(h, payload)
	case frameWindowUpdate:
		failure = c.receiveWindowUpdate(h, payload)
	case framePriority:
		failure = c.receivePriority(h, payload)
	case framePushPromise:
		failure = c.fail(ProtocolError, "PUSH_PROMISE, which this side does not allow")
	default:
		failure = c.spend(AbuseIgnoredFrames) // RFC 9113, section 5.5
	}
	if failure == nil {
		failure = c.checkUnread()
	}
	return used, failure
}

// receivePing acknowledges PING. RFC 9113, section 6.7.
func (c *Conn) receivePing(h frameHeader, p []byte) *ConnError {
	switch {
	case h.stream != 0:
		return c.fail(ProtocolError, "PING on a stream")
	case len(p) != pingSize:
		return c.fail(FrameSizeError, "PING of a wrong length")
	case h.has(flagAck):
		if !c.pongAwaited {
			return c.spend(AbusePings)
		}
		c.pongAwaited = false
		return nil
	}
	if err := c.spend(AbusePings); err != nil {
		return err
	}
	ack := c.control(pingSize, framePing, flagAck, 0)
	copy(ack, p)
	c.writeControl(ack)
	return nil
}

// receivePriority ignores PRIORITY, after the checks. RFC 9113, section 6.3.
func (c *Conn) receivePriority(h frameHeader, p []byte) *ConnError {
	switch {
	case h.stream == 0:
		return c.fail(ProtocolError, "PRIORITY without a stream")
	case len(p) != 5:
		if s := c.streams.get(h.stream); s != nil {
			return c.streamFault(s, FrameSizeError, "PRIORITY of a wrong length")
		}
		return c.fail(FrameSizeError, "PRIORITY of a wrong length")
	}
	if err := c.checkDependency(h, p); err != nil {
		return err
	}
	return c.spend(AbuseIgnoredFrames)
}

// checkDependency refuses a stream that depends on itself. RFC 9113 has no such rule any more, but RFC 7540, section 5.3.1, has.
func (c *Conn) checkDependency(h frameHeader, priority []byte) *ConnError {
	if binary.BigEndian.Uint32(priority)&maxStreamID == h.stream {
		return c.fail(ProtocolError, "a stream that depends on itself")
	}
	return nil
}

// receiveReset ends a stream. RFC 9113, section 6.4.
func (c *Conn) receiveReset(h frameHeader, p []byte) *ConnError {
	switch {
	case h.stream == 0:
		return c.fail(ProtocolError, "RST_STREAM without a stream")
	case len(p) != 4:
		return c.fail(FrameSizeError, "RST_STREAM of a wrong length")
	}
	s := c.streams.get(h.stream)
	if s == nil {
		if reset := c.resets.find(h.stream); reset != nil {
			reset.id = 0 // the peer has ended the stream too, so frames that follow are errors
		}
		return c.receiveUnknown(h)
	}
	code := Code(binary.BigEndian.Uint32(p))
	c.stats.ResetsReceived++
	c.endStream(s, receiveReset, StreamError{Code: code, Remote: true, Refused: code == RefusedStream && c.client})
	if !c.client {
		return c.spend(AbuseResets)
	}
	return nil
}

// receiveUnknown handles RST_STREAM and WINDOW_UPDATE of a stream that is not open. RFC 9113, section 5.1: both are ignored on a
// closed stream, and are connection errors on an idle one.
func (c *Conn) receiveUnknown(h frameHeader) *ConnError {
	if c.isIdle(h.stream) {
		return c.fail(ProtocolError, "a frame of a stream that was never opened")
	}
	return c.spend(AbuseIgnoredFrames)
}

// isIdle reports whether the stream was never opened. It has id 0 or one that neither side has used.
func (c *Conn) isIdle(id uint32) bool {
	if c.client {
		return id&1 == 0 || id >= c.nextID
	}
	return id&1 == 0 || id > c.lastID
}

// streamFault resets a stream because of an error of the peer. RFC 9113, section 5.4.2.
func (c *Conn) streamFault(s *Stream, code Code, reason string) *ConnError {
	c.sendResetFrame(s.id, code, s.recvWindow)
	c.endStream(s, sendReset, StreamError{Code: code, Reason: reason})
	return c.spend(AbuseErrors)
}
