package edge

import (
	"time"

	"example.com/ferry/loop"
)

// Progress says whether a client reads what is written to it.
type Progress struct {
	unsent int           // result of Conn.Unsent when it last changed
	at     time.Duration // when that was, as Loop.Now
}

// Stalled reports whether the client has read nothing for longer than most, although there is something to read. It is called from time to time.
func (p *Progress) Stalled(c *loop.Conn, now, most time.Duration) bool {
	unsent := 0
	if c.Blocked() { // otherwise all bytes are on their way, and two messages of one length look alike
		unsent = c.Unsent()
	}
	if unsent == 0 || unsent != p.unsent {
		p.unsent, p.at = unsent, now
	}
	return now-p.at > most
}
