package edge

import (
	"time"

	"example.com/ferry/loop"
)

// Progress says whether a client reads what is written to it.
type Progress struct {
	unsent uint32 // result of Conn.Unsent when it last changed
	at     uint32 // when that was, as Loop.Now, in ms modulo 2^32: many clients do nothing
}

// Stalled reports whether the client has read nothing for longer than most, although there is something to read. It is called from time to time.
func (p *Progress) Stalled(c *loop.Conn, now, most time.Duration) bool {
	unsent, at := uint32(0), uint32(now/time.Millisecond)
	if c.Blocked() { // otherwise all bytes are on their way, and two messages of one length look alike
		unsent = uint32(c.Unsent())
	}
	if unsent == 0 || unsent != p.unsent {
		p.unsent, p.at = unsent, at
	}
	return time.Duration(at-p.at)*time.Millisecond > most
}
