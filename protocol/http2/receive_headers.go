package http2

import (
	"strconv"

	"example.com/ferry/internal/bufpool"
)

// fieldBlock is a field block of several frames.
type fieldBlock struct {
	open   bool
	stream uint32
	end    bool // END_STREAM
	buf    *bufpool.Buf
}

func (b *fieldBlock) drop() {
	if b.buf != nil {
		b.buf.Release()
	}
	*b = fieldBlock{}
}

// receiveHeaders handles HEADERS. RFC 9113, section 6.2.
func (c *Conn) receiveHeaders(h frameHeader, p []byte) *ConnError {
	if h.stream == 0 || !c.client && h.stream&1 == 0 {
		return c.fail(ProtocolError, "HEADERS without a stream that the peer may open")
	}
	padding := 0
	if h.has(flagPadded) {
		if len(p) == 0 {
			return c.fail(FrameSizeError, "HEADERS without the length of its padding")
		}
		padding = int(p[0])
		p = p[1:]
	}
	if h.has(flagPriority) {
		if len(p) < 5 {
			return c.fail(FrameSizeError, "HEADERS that is too short for its priority")
		}
		if err := c.checkDependency(h, p); err != nil {
			return err
		}
		p = p[5:]
	}
	if padding > len(p) {
		return c.fail(ProtocolError, "HEADERS whose padding is longer than the frame")
	}
	p = p[:len(p)-padding]
	if h.has(flagEndHeaders) {
		return c.receiveBlock(h.stream, p, h.has(flagEndStream))
	}
	c.block = fieldBlock{open: true, stream: h.stream, end: h.has(flagEndStream), buf: bufpool.Get(max(2*len(p), 4<<10))}
	return c.appendBlock(p)
}

// receiveContinuation handles CONTINUATION. RFC 9113, section 6.10.
func (c *Conn) receiveContinuation(h frameHeader, p []byte) *ConnError {
	if !c.block.open {
		return c.fail(ProtocolError, "CONTINUATION without HEADERS")
	}
	if err := c.appendBlock(p); err != nil || !h.has(flagEndHeaders) {
		return err
	}
	block := c.block
	c.block = fieldBlock{}
	err := c.receiveBlock(block.stream, block.buf.B, block.end)
	block.drop()
	return err
}

// appendBlock keeps a part of a field block. A field takes at least as many bytes in MaxHeader as it usually takes on the wire, so
// a block of twice MaxHeader is an attack.
func (c *Conn) appendBlock(p []byte) *ConnError {
	if len(c.block.buf.B)+len(p) > 2*c.cfg.MaxHeader {
		c.block.drop()
		return c.failFor(EnhanceYourCalm, "a field block that is more than twice as large as SETTINGS_MAX_HEADER_LIST_SIZE", AbuseContinuation)
	}
	c.block.buf.B = append(c.block.buf.B, p...)
	if len(p) == 0 {
		return c.spend(AbuseEmptyFrames)
	}
	return nil
}

// receiveBlock decodes a whole field block and passes it on. Each block is decoded, also if its stream is closed or refused,
// because the decoder's table must follow the peer's. RFC 9113, section 4.3.
func (c *Conn) receiveBlock(id uint32, p []byte, end bool) *ConnError {
	s := c.streams.get(id)
	kind := requestBlock
	switch {
	case s != nil && s.is(headReceived):
		kind = trailersBlock
	case c.client:
		kind = responseBlock
	}
	h := headPool.Get().(*Head)
	h.begin(kind, &c.cfg, c.cfg.ExtendedConnect)
	defer h.release()
	if reason := c.decoder.decode(p, h); reason != "" {
		return c.fail(CompressionError, "a field block with "+reason)
	}
	if h.judge.bomb {
		return c.failFor(EnhanceYourCalm, "a field block that stands for more than four times SETTINGS_MAX_HEADER_LIST_SIZE", AbuseHeaderBomb)
	}
	malformed := h.finish()
	switch {
	case s != nil:
		return c.receiveHead(s, h, end, malformed)
	case !c.isIdle(id):
		return c.ignoreHeaders(id)
	case c.client:
		return c.fail(ProtocolError, "HEADERS of a stream that was never opened")
	}
	c.lastID = id
	switch {
	case c.goAway.final:
		return c.spend(AbuseIgnoredFrames)
	case c.active >= c.cfg.MaxStreams:
		c.sendResetFrame(id, RefusedStream, c.streamWindow())
		c.stats.Refused++
		return c.spend(AbuseRefused) // also before the peer acknowledges SETTINGS, because it may never do so
	}
	if malformed == "" && end && h.ContentLength > 0 {
		malformed = "a content-length without a body"
	}
	s = c.newStream()
	c.streams.setID(s, id)
	s.enter(receiveHeaders)
	if malformed != "" || h.judge.tooLarge {
		s.flags |= released // the Handler does not learn of the stream
	}
	return c.receiveHead(s, h, end, malformed)
}

// ignoreHeaders counts HEADERS of a closed stream. A peer that has not seen RST_STREAM or GOAWAY may send them. On another closed
// stream they are a connection error. RFC 9113, section 5.1.
func (c *Conn) ignoreHeaders(id uint32) *ConnError {
	if c.resets.find(id) == nil && !c.goneAway(id) {
		if !c.resets.full() {
			return c.fail(StreamClosed, "HEADERS of a closed stream")
		}
		c.resets.add(id, c.streamWindow()) // DATA may follow
	}
	return c.spend(AbuseIgnoredFrames)
}

// receiveHead passes on a judged head or trailers.
func (c *Conn) receiveHead(s *Stream, h *Head, end bool, malformed string) *ConnError {
	switch {
	case !s.canReceive():
		return c.streamFault(s, StreamClosed, "HEADERS after END_STREAM")
	case malformed != "":
		return c.malformed(s, malformed)
	case h.judge.tooLarge:
		return c.headTooLarge(s, end)
	case h.Trailers && !end:
		return c.malformed(s, "trailers without END_STREAM")
	}
	interim := h.Status >= 100 && h.Status < 200
	switch {
	case interim && end:
		return c.malformed(s, "an interim response with END_STREAM")
	case interim:
		if err := c.spend(AbuseEmptyFrames); err != nil {
			return err
		}
	case !h.Trailers:
		s.flags |= headReceived
		s.expectBody(h, c.client)
	}
	if end {
		if s.bodyLeft > 0 {
			return c.malformed(s, "a body that is not as long as its content-length")
		}
		s.enter(receiveEnd)
		c.noteComplete(s)
	}
	if !s.is(released) {
		c.handler.Headers(s, h, end)
	}
	return nil
}

// expectBody notes how long the peer's body is. RFC 9110, section 8.6.
func (s *Stream) expectBody(h *Head, response bool) {
	s.bodyLeft = h.ContentLength
	switch {
	case !response:
		if string(h.Method) == "CONNECT" {
			s.bodyLeft = -1
		}
		if string(h.Method) == "HEAD" {
			s.flags |= forHead
		}
	case s.is(forConnect) && h.Status < 300:
		s.bodyLeft = -1
	case s.is(forHead) || h.Status == 204 || h.Status == 304:
		s.bodyLeft = 0
	}
}

// malformed resets a stream whose message is malformed. RFC 9113, section 8.1.1.
func (c *Conn) malformed(s *Stream, reason string) *ConnError {
	c.stats.Malformed++
	return c.streamFault(s, ProtocolError, reason)
}

// headTooLarge ends a stream whose head or trailers are beyond MaxHeader or MaxFields. A request gets 431. RFC 9113, section 10.5.1.
func (c *Conn) headTooLarge(s *Stream, end bool) *ConnError {
	c.stats.HeaderTooLarge++
	if c.client || s.is(headReceived) {
		return c.streamFault(s, ProtocolError, "a field block larger than max_header or max_fields")
	}
	if end {
		s.enter(receiveEnd)
	}
	complete := c.abuse.complete
	e := s.BeginHeaders()
	e.Status(431)
	e.FieldString("content-length", strconv.Itoa(0))
	e.End(true)
	c.abandon(s)
	c.abuse.complete = complete // this response was no useful work
	return c.spend(AbuseErrors)
}
