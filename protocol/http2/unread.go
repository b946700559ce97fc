package http2

// A peer that sends requests or control frames and reads nothing makes this side hold the frames that it must send: they are
// written although Output is Full. unreadOutput bounds them. It counts from the moment when Output became Full until it is no
// longer Full. In this time a peer that keeps to MaxStreams completes few more than MaxStreams streams, because their responses lie
// behind the bytes that make Output Full. It may also reset some, which AbuseResets bounds.
type unreadOutput struct {
	control int // bytes of PING, SETTINGS, WINDOW_UPDATE, RST_STREAM
	streams int // streams that ended after this side had written the head of a response
}

const (
	maxUnreadControl = 16 << 10 // bytes of control frames that wait
	moreUnread       = 100      // streams that end while Output is full, beside twice MaxStreams
)

// control begins a control frame in c.scratch and returns its payload of at most 8 bytes. writeControl follows.
func (c *Conn) control(length int, kind, flags uint8, stream uint32) (payload []byte) {
	putFrameHeader(c.scratch[:], length, kind, flags, stream)
	return c.scratch[frameHeaderSize : frameHeaderSize+length]
}

// writeControl writes the control frame. It is not held back if Output is full.
func (c *Conn) writeControl(payload []byte) {
	p := c.scratch[:frameHeaderSize+len(payload)]
	c.out.Write(p)
	if c.out.Full() {
		c.unread.control += len(p)
	}
}

// noteUnreadResponse counts the end of a stream.
func (c *Conn) noteUnreadResponse(s *Stream) {
	if !c.client && s.is(headSent) && c.out.Full() {
		c.unread.streams++
	}
}

// checkUnread returns an error if too much waits for the peer. flush begins to count anew when Output is no longer full.
func (c *Conn) checkUnread() *ConnError {
	if c.unread.control > maxUnreadControl || c.unread.streams > 2*c.cfg.MaxStreams+moreUnread {
		return c.failFor(EnhanceYourCalm, "the peer sends and does not read", AbuseUnread)
	}
	return nil
}
