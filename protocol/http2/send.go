package http2

// dribble is the size in bytes below which a DATA frame is no useful work if a window has cut it. CVE-2019-9511. A small frame with
// all that there is to send is useful: it is a message of a stream such as gRPC's.
const dribble = 256

// Write sends p as a part of the body, and END_STREAM if end is set. What the windows or a full Output do not let pass is copied to
// the stream's queue, and so are all bytes before the peer's SETTINGS have arrived: they may reduce the windows, and some servers
// reset a stream with DATA that a window has let pass before (RFC 9113, section 6.9.3, permits both). The head must have been sent. Write accepts all bytes, so the driver checks Full to bound the queue. p may be
// empty. After the end, and on a stream whose side has ended, Write does nothing.
func (s *Stream) Write(p []byte, end bool) {
	c := s.conn
	if c.encoder.stream == s {
		panic("http2: Write between BeginHeaders and End")
	}
	if !s.canSend() || !s.is(headSent) || s.is(endQueued) || c.phase == failed {
		return
	}
	if s.queue.size == 0 && (c.ready.first == nil || len(p) == 0) {
		if p = c.writeDirect(s, p, end); len(p) == 0 {
			return
		}
	}
	s.queue.append(c.out, p)
	if end {
		s.flags |= endQueued
	}
	if n := s.queue.size; n >= c.cfg.QueuePerStream || n >= crowdedQueue && c.out.Crowded() {
		s.flags |= queueFull
	}
	c.markReady(s)
}

// writeDirect writes as much of p as the windows and Output accept, and returns the rest. The end is written with the last byte.
func (c *Conn) writeDirect(s *Stream, p []byte, end bool) (rest []byte) {
	if len(p) == 0 && !end {
		return nil
	}
	for {
		n := max(0, min(len(p), s.sendWindow, c.sendWindow, c.peer.maxFrame, maxUsedFrame)) // a window may be negative
		if len(p) > 0 && (n == 0 || c.out.Full()) {
			return p
		}
		last := end && n == len(p)
		c.writeDataHeader(s, n, n == len(p), last)
		if n > 0 {
			c.out.Write(p[:n])
		}
		p = p[n:]
		if last {
			c.localEnd(s)
		}
		if len(p) == 0 {
			return nil
		}
	}
}

// writeDataHeader writes the header of a DATA frame and reduces the windows. all means that the frame has all that is to be sent.
func (c *Conn) writeDataHeader(s *Stream, n int, all, last bool) {
	flags := uint8(0)
	if last {
		flags = flagEndStream
	}
	h := c.scratch[:frameHeaderSize]
	putFrameHeader(h, n, frameData, flags, s.id)
	c.out.Write(h)
	s.stalled, c.moved = 0, true
	s.sendWindow -= n
	c.sendWindow -= n
	if n >= dribble || all {
		c.abuse.frames++
	}
}

// localEnd notes that END_STREAM was written.
func (c *Conn) localEnd(s *Stream) {
	s.enter(sendEnd)
	c.noteComplete(s)
	if s.is(released) {
		c.abandon(s)
	}
}

// sent tells the Handler that an END_STREAM that had to wait is written.
func (c *Conn) sent(s *Stream) {
	if !s.is(released) {
		c.handler.Sent(s)
	}
}

// Full reports whether the stream's queue has reached Config.QueuePerStream, or 4 KiB while Output is crowded, and has not shrunk to
// half of that since. Handler.Writable follows.
func (s *Stream) Full() bool { return s.is(queueFull) }

// lowMark returns the length of a stream's queue in bytes at which the stream is no longer full.
func (c *Conn) lowMark() int {
	if c.out.Crowded() {
		return min(crowdedQueue, c.cfg.QueuePerStream) / 2
	}
	return c.cfg.QueuePerStream / 2
}

// Queued returns the number of body bytes in the stream's queue.
func (s *Stream) Queued() int { return s.queue.size }

// markReady gives s turns to send if it has something to send and its window is positive, and takes them away otherwise.
func (c *Conn) markReady(s *Stream) {
	if s.queue.size > 0 && s.sendWindow > 0 {
		c.ready.push(s)
	} else {
		c.ready.remove(s)
	}
}

// Flush sends DATA that waits: one frame of each stream in turn, until Output is full or the windows are used up. The driver calls
// it when Output is no longer full.
func (c *Conn) Flush() {
	if c.depth == 0 {
		c.reuse()
	}
	c.depth++
	c.flush()
	c.depth--
}

func (c *Conn) flush() {
	if !c.out.Full() {
		c.unread = unreadOutput{}
	}
	for c.phase != failed && c.sendWindow > 0 && c.ready.first != nil && !c.out.Full() {
		s := c.ready.first
		c.ready.remove(s)
		n := min(s.queue.size, s.sendWindow, c.sendWindow, c.peer.maxFrame, maxUsedFrame)
		last := n == s.queue.size && s.is(endQueued) && s.trailers == nil
		c.writeDataHeader(s, n, n == s.queue.size, last)
		s.queue.writeTo(c.out, n)
		switch {
		case last:
			c.localEnd(s)
			c.sent(s)
		case s.queue.size == 0 && s.trailers != nil:
			c.writeTrailers(s)
			c.sent(s)
		default:
			c.markReady(s)
		}
		if s.is(queueFull) && s.queue.size <= c.lowMark() {
			s.flags &^= queueFull
			if !s.is(released) && s.state != closed {
				c.handler.Writable(s)
			}
		}
	}
}

// writeTrailers writes the encoded trailers of a stream whose queue is empty.
func (c *Conn) writeTrailers(s *Stream) {
	b := s.trailers
	s.trailers = nil
	e := &c.encoder
	if e.table.pending {
		b.p = e.table.insertResize(b.p)
	}
	e.writeBlock(s, b.p, true)
	b.release()
	c.localEnd(s)
}
