package peer

import (
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// NewDriven returns a Conn that has no goroutines: an event loop passes received frames to Dispatch, and takes what is to be written
// with TakeQueued. wake is called, on any goroutine, when there is something to take after TakeQueued has found nothing. raw is
// used to close the connection, and to refuse it. Hello replaces Accept, and Ended replaces the end of Serve.
func NewDriven(raw transport.Conn, cfg Config, wake func()) *Conn {
	c := newConn(raw, cfg)
	c.control.driver, c.control.asleep = wake, true
	return c
}

// Hello does the first part of the node's handshake with the client's first frame. See Accept.
func (c *Conn) Hello(f native.Frame) (native.HelloFrame, error) {
	if f.Kind() != native.Hello {
		return native.HelloFrame{}, Unexpected(f, "before HELLO")
	}
	hello, err := native.ParseHello(f)
	if err == nil {
		c.version, err = native.Negotiate(hello, c.cfg.Lowest, c.cfg.Highest)
	}
	return hello, err
}

// Ended notes that the socket of a driven Conn is closed because of why. It is called once.
func (c *Conn) Ended(why error) {
	c.Close(why)
	c.control.EndDriven()
	c.readers.Done()
}

// Rouse makes the next appends not call wake: TakeQueued follows soon.
func (w *FrameWriter) Rouse() {
	w.mu.Lock()
	w.asleep = false
	w.mu.Unlock()
}

// TakeQueued passes all queued bytes to sink, each with the buffer that holds it. It returns how many bytes there were. If there were
// none, the next append calls wake. ended is set if nothing more will come: EndDriven follows.
func (w *FrameWriter) TakeQueued(sink func(b []byte, buf *bufpool.Buf)) (n int, ended bool) {
	w.mu.Lock()
	if w.queued == 0 {
		w.asleep, ended = true, w.closed
		w.mu.Unlock()
		return 0, ended
	}
	w.closeTail()
	batch := w.segments
	w.segments, w.spare = w.spare[:0], batch
	n = w.queued
	w.queued, w.responses = 0, 0
	w.wakeProducers()
	w.mu.Unlock()
	for _, s := range batch {
		sink(s.bytes, s.buf)
	}
	release(batch)
	return n, false
}

// EndDriven closes the FrameWriter of a driven Conn. Later calls have no effect.
func (w *FrameWriter) EndDriven() {
	w.mu.Lock()
	ended := w.ended
	w.ended = true
	w.mu.Unlock()
	if !ended {
		w.end()
	}
}
