package loop

// Handler handles what happens to one connection. The connection's loop makes the calls, one at a time, and never from
// within a method of a Conn. In each of them a handler may write to, pause, close or abort its own connection and any other
// one of the same loop. Base has methods to embed.
type Handler interface {
	// Opened comes once: for an accepted connection at once, for a dialled one when it is connected.
	Opened(c *Conn)
	// Data lends the bytes that arrived and have not been taken yet, and returns how many it takes. They are valid until it
	// returns. The bytes that are left come again, in front of those that arrive next.
	Data(c *Conn, p []byte) int
	// Drained comes when a queue that made Full true has shrunk to Config.LowWater: the writers to c may go on.
	Drained(c *Conn)
	// HalfClosed comes once, when the peer has ended its side. c can still be written to; CloseWrite or Close ends it.
	// Bytes that Data has not taken by then are Conn.Unread, and come again after ResumeReading.
	HalfClosed(c *Conn)
	// Timer comes when the timer that SetTimer(which, d) has set is due.
	Timer(c *Conn, which int)
	// Closed comes once and last, also for a dialled connection that never opened. err is nil if both sides ended in order
	// or Close was called. Otherwise it is the cause: Abort's argument, or the error of the system or the layer.
	Closed(c *Conn, err error)
}

// Shutdowner is a Handler that finishes its work when the group shuts down, and then closes the connection. Connections of
// other handlers are closed at once.
type Shutdowner interface {
	Shutdown(c *Conn)
}

// Base is a Handler that takes all bytes and does nothing else. Handlers embed it for the methods they do not need.
type Base struct{}

var _ Handler = Base{}

// Opened does nothing.
func (Base) Opened(*Conn) {}

// Data takes everything.
func (Base) Data(_ *Conn, p []byte) int { return len(p) }

// Drained does nothing.
func (Base) Drained(*Conn) {}

// HalfClosed closes the connection when what is queued is written.
func (Base) HalfClosed(c *Conn) { c.Close() }

// Timer does nothing.
func (Base) Timer(*Conn, int) {}

// Closed does nothing.
func (Base) Closed(*Conn, error) {}
