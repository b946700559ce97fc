package loop

// Handler handles the events of one connection. The connection's loop makes all calls, one at a time, and never from within a
// method of a Conn. During a call the handler may write to, pause, close or abort its own connection and any other connection
// of the same loop. Base implements all methods, for embedding.
type Handler interface {
	// Opened is called once, when the connection is ready: accepted or connected, and after the handshake of a layer.
	Opened(c *Conn)
	// Data lends the received bytes to the handler. It returns how many of them, from the front, the handler has consumed. The
	// bytes are valid until Data returns. The next call repeats the rest, followed by newly received bytes.
	Data(c *Conn, p []byte) int
	// Drained is called when the queue has shrunk to Config.LowWater after Full was true. Writing to c may continue.
	Drained(c *Conn)
	// HalfClosed is called once, when the peer has ended its side. c can still send, until CloseWrite or Close. Conn.Unread
	// returns the bytes that Data has not consumed. After ResumeReading Data gets these bytes again.
	HalfClosed(c *Conn)
	// Timer is called when the timer that SetTimer(which, d) started has expired.
	Timer(c *Conn, which int)
	// Closed is called once, as the last call, also for a dialled connection that never opened. err is nil after Close, and if
	// both sides ended in order. Otherwise err is the cause: Abort's argument, or the error of the system or the layer.
	Closed(c *Conn, err error)
}

// Shutdowner is a Handler that finishes its work when the group shuts down, and then closes its connection. Connections of
// other handlers are closed immediately.
type Shutdowner interface {
	Shutdown(c *Conn)
}

// Base is a Handler that consumes all bytes and does nothing else. Handlers embed Base for the methods they do not need.
type Base struct{}

var _ Handler = Base{}

// Opened does nothing.
func (Base) Opened(*Conn) {}

// Data consumes all bytes.
func (Base) Data(_ *Conn, p []byte) int { return len(p) }

// Drained does nothing.
func (Base) Drained(*Conn) {}

// HalfClosed closes the connection once the queue is written.
func (Base) HalfClosed(c *Conn) { c.Close() }

// Timer does nothing.
func (Base) Timer(*Conn, int) {}

// Closed does nothing.
func (Base) Closed(*Conn, error) {}
