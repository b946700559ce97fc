package http2

import "encoding/binary"

// changeInitialWindow applies SETTINGS_INITIAL_WINDOW_SIZE to all streams. Windows may become negative. RFC 9113, section 6.9.2.
func (c *Conn) changeInitialWindow(window int) *ConnError {
	delta := window - c.peer.initialWindow
	if delta == 0 {
		return nil
	}
	c.peer.initialWindow = window
	for s := c.streams.all; s != nil; s = s.allNext {
		if delta > 0 && s.sendWindow > maxWindow-delta {
			return c.fail(FlowControlError, "SETTINGS_INITIAL_WINDOW_SIZE makes a stream's window larger than 2^31-1")
		}
		s.sendWindow += delta
		c.markReady(s)
	}
	return nil
}

// usefulIncrement is the least increment of WINDOW_UPDATE that is no abuse, in bytes. A peer can send only two million larger ones
// for which this side sends no DATA: then the window overflows.
const usefulIncrement = 1 << 10

// receiveWindowUpdate enlarges a send window. RFC 9113, section 6.9.
func (c *Conn) receiveWindowUpdate(h frameHeader, p []byte) *ConnError {
	if len(p) != 4 {
		return c.fail(FrameSizeError, "WINDOW_UPDATE of a wrong length")
	}
	increment := int(binary.BigEndian.Uint32(p) & maxWindow)
	if increment < usefulIncrement {
		if err := c.spend(AbuseWindows); err != nil {
			return err
		}
	}
	if h.stream == 0 {
		switch {
		case increment == 0:
			return c.fail(ProtocolError, "WINDOW_UPDATE of 0")
		case c.sendWindow > maxWindow-increment:
			return c.fail(FlowControlError, "WINDOW_UPDATE makes the connection's window larger than 2^31-1")
		}
		c.sendWindow += increment
		return nil
	}
	s := c.streams.get(h.stream)
	if s == nil && increment >= usefulIncrement && !c.isIdle(h.stream) {
		return nil // the peer has not seen the end of the stream
	}
	if s == nil {
		return c.receiveUnknown(h)
	}
	switch {
	case increment == 0:
		return c.streamFault(s, ProtocolError, "WINDOW_UPDATE of 0")
	case s.sendWindow > maxWindow-increment:
		return c.streamFault(s, FlowControlError, "WINDOW_UPDATE makes the stream's window larger than 2^31-1")
	}
	s.sendWindow += increment
	c.markReady(s)
	return nil
}

// giveBack gives back n bytes of the stream's receive window.
func (s *Stream) giveBack(n int) {
	s.unacked += n
	c := s.conn
	if s.unacked < max(c.cfg.StreamWindow/2, 1) || !s.canReceive() || c.phase == failed {
		return
	}
	s.recvWindow += s.unacked
	c.writeWindowUpdate(s.id, s.unacked)
	s.unacked = 0
}

// giveBack gives back n bytes of the connection's receive window.
func (c *Conn) giveBack(n int) {
	c.recvUnacked += n
	if c.recvUnacked < c.cfg.ConnWindow/2 || c.phase == failed {
		return
	}
	c.recvWindow += c.recvUnacked
	c.writeWindowUpdate(0, c.recvUnacked)
	c.recvUnacked = 0
}

func (c *Conn) writeWindowUpdate(id uint32, n int) {
	p := c.control(4, frameWindowUpdate, 0, id)
	binary.BigEndian.PutUint32(p, uint32(n))
	c.writeControl(p)
}
