package http2

// dataFrame is the DATA frame whose payload arrives. The stream is found by its id for each piece, because it may end in between.
type dataFrame struct {
	open    bool
	stream  uint32
	left    int // bytes of content that have not arrived
	padding int // bytes of padding that have not arrived
	end     bool
}

// beginData handles the header of a DATA frame. RFC 9113, section 6.1. The whole length counts for the windows at once.
func (c *Conn) beginData(h frameHeader, p []byte) (used int, failure *ConnError) {
	used = frameHeaderSize
	d := dataFrame{open: true, stream: h.stream, left: h.length, end: h.has(flagEndStream)}
	if h.stream == 0 {
		return 0, c.fail(ProtocolError, "DATA without a stream")
	}
	if h.has(flagPadded) {
		if h.length == 0 {
			return 0, c.fail(FrameSizeError, "DATA without the length of its padding")
		}
		if len(p) == frameHeaderSize {
			return 0, nil
		}
		d.padding = int(p[frameHeaderSize])
		d.left -= d.padding + 1
		if d.left < 0 {
			return 0, c.fail(ProtocolError, "DATA whose padding is longer than the frame")
		}
		used++
	}
	if h.length > c.recvWindow {
		return 0, c.fail(FlowControlError, "DATA beyond the connection's window")
	}
	c.recvWindow -= h.length
	s := c.streams.get(h.stream)
	lent, failure := c.judgeData(s, h, &d)
	if failure != nil {
		return 0, failure
	}
	if !c.cfg.BoundHeld {
		lent = 0
	}
	c.giveBack(h.length - lent)
	c.data = d
	if d.left == 0 {
		c.endData(d)
	}
	return used, nil
}

// judgeData checks whether the stream may get the frame, and reduces the stream's window. It returns how many bytes Data will lend to
// the driver. If the stream is not open, the frame is discarded. After a stream error, too.
func (c *Conn) judgeData(s *Stream, h frameHeader, d *dataFrame) (lent int, failure *ConnError) {
	if s == nil {
		if c.isIdle(h.stream) {
			return 0, c.fail(ProtocolError, "DATA of a stream that was never opened")
		}
		return 0, c.ignoreData(h)
	}
	switch {
	case !s.canReceive():
		return 0, c.streamFault(s, StreamClosed, "DATA after END_STREAM")
	case !s.is(headReceived):
		return 0, c.malformed(s, "DATA before the head")
	case h.length > s.recvWindow:
		return 0, c.streamFault(s, FlowControlError, "DATA beyond the stream's window")
	}
	s.recvWindow -= h.length
	if s.bodyLeft >= 0 {
		s.bodyLeft -= int64(d.left)
		if s.bodyLeft < 0 || d.end && s.bodyLeft > 0 {
			return 0, c.malformed(s, "a body that is not as long as its content-length")
		}
	}
	s.giveBack(h.length - d.left) // the padding is consumed
	if d.left == 0 && !d.end {
		return 0, c.spend(AbuseEmptyFrames)
	}
	c.abuse.frames++
	if s.is(released) {
		return 0, nil
	}
	s.lent += d.left
	return d.left, nil
}

// receiveData passes on what has arrived of a DATA frame.
func (c *Conn) receiveData(p []byte) (used int, failure *ConnError) {
	if n := min(c.data.left, len(p)); n > 0 {
		c.data.left -= n
		used = n
		end := c.data.left == 0
		if s := c.streams.get(c.data.stream); s != nil && s.canReceive() {
			end = end && c.data.end
			if end {
				s.enter(receiveEnd)
				c.noteComplete(s)
			}
			if !s.is(released) {
				c.handler.Data(s, p[:n], end)
			}
		}
	}
	if c.data.left == 0 {
		n := min(c.data.padding, len(p)-used)
		c.data.padding -= n
		used += n
		c.data.open = c.data.padding > 0
		if !c.data.open && used == 0 {
			return c.receiveFrame(p)
		}
	}
	return used, nil
}

// endData passes on the end of the body that an empty frame carries.
func (c *Conn) endData(d dataFrame) {
	c.data.open = d.padding > 0
	if s := c.streams.get(d.stream); s != nil && d.end && s.canReceive() {
		s.enter(receiveEnd)
		c.noteComplete(s)
		if !s.is(released) {
			c.handler.Data(s, nil, true)
		}
	}
}

// noteComplete counts a stream that ended without an error on both sides.
func (c *Conn) noteComplete(s *Stream) {
	if s.state == closed {
		c.abuse.complete++
	}
}

// ignoreData counts DATA of a closed stream. A peer that has not seen RST_STREAM or GOAWAY may use up the stream's window. DATA of
// another closed stream is a stream error. RFC 9113, section 5.1.
func (c *Conn) ignoreData(h frameHeader) *ConnError {
	reset := c.resets.find(h.stream)
	switch {
	case h.length == 0:
		return c.spend(AbuseEmptyFrames)
	case reset != nil && h.length <= int(reset.window):
		reset.window -= int32(h.length)
		return nil
	case c.goneAway(h.stream):
		return nil
	case reset == nil:
		c.sendResetFrame(h.stream, StreamClosed, 0)
	}
	return c.spend(AbuseIgnoredFrames)
}

// goneAway reports whether this side does not process the stream after its final GOAWAY.
func (c *Conn) goneAway(id uint32) bool {
	return c.goAway.final && !c.client && id > c.goAway.last
}
