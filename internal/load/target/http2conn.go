package target

import (
	"cmp"
	"context"
	"net"
	"sync"

	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
)

// http2Conn is a connection of HTTP2. The fields below h2 need its lock.
type http2Conn struct {
	target  *HTTP2
	scheme  string
	ready   chan struct{} // closed when the server's SETTINGS have arrived
	closing chan struct{}

	h2       *h2conn.Conn
	room     *sync.Cond // signaled when a stream may be opened, or never again
	isReady  bool
	noStream bool // closing is closed
}

var (
	_ http2.Handler = (*http2Conn)(nil)
	_ h2conn.Turner = (*http2Conn)(nil)
	_ sharedConn    = (*http2Conn)(nil)
)

// Closing is closed when no further stream can be opened.
func (c *http2Conn) Closing() <-chan struct{} { return c.closing }

// Close ends the connection after its streams, or when ctx ends.
func (c *http2Conn) Close(ctx context.Context) error {
	c.h2.Drain()
	select {
	case <-c.h2.Done():
		return nil
	case <-ctx.Done():
		c.h2.Close(nil)
		return ctx.Err()
	}
}

// startClosing needs the lock.
func (c *http2Conn) startClosing() {
	if !c.noStream {
		c.noStream = true
		close(c.closing)
	}
	c.room.Broadcast()
}

// send sends the request of a worker. It waits for a stream: the requests in progress, which hold the others, end by their timeouts.
func (c *http2Conn) send(w *http2Client) error {
	c.h2.Lock()
	defer c.h2.Unlock()
	for !c.noStream && !c.h2.HTTP2().CanOpen() {
		c.room.Wait()
	}
	if c.noStream {
		return cmp.Or(c.h2.Err(), net.ErrClosed)
	}
	s := c.h2.HTTP2().Open()
	s.User = w
	w.stream, w.status, w.err, w.ended = s, 0, nil, false
	r := &c.target.Request
	r.writeHTTP2(s.BeginHeaders(), c.scheme, c.target.Addr)
	if len(r.Body) > 0 {
		s.Write(r.Body, true)
	}
	return nil
}

// abort ends the request of a worker. It returns false if the request has ended before.
func (c *http2Conn) abort(w *http2Client) bool {
	c.h2.Lock()
	defer c.h2.Unlock()
	if w.ended {
		<-w.done
		return false
	}
	w.stream.Reset(http2.Cancel)
	c.end(w, nil)
	<-w.done
	return true
}

// end ends the request of a worker. It needs the lock.
func (c *http2Conn) end(w *http2Client, err error) {
	s := w.stream
	if err == nil && !s.Ended() {
		s.Reset(http2.NoError) // the server has responded without reading the request to its end
	}
	s.Release()
	w.stream, w.err, w.ended = nil, err, true
	w.done <- struct{}{}
	c.room.Signal()
}

// Headers stores the status of a response.
func (c *http2Conn) Headers(s *http2.Stream, h *http2.Head, end bool) {
	if w, ok := s.User.(*http2Client); ok {
		if !h.Trailers {
			w.status = h.Status
		}
		if end {
			c.end(w, nil)
		}
	}
}

// Data drops a piece of a body.
func (c *http2Conn) Data(s *http2.Stream, p []byte, end bool) {
	s.Consumed(len(p))
	if w, ok := s.User.(*http2Client); ok && end {
		c.end(w, nil)
	}
}

// Reset fails the request of a stream.
func (c *http2Conn) Reset(s *http2.Stream, why http2.StreamError) {
	if w, ok := s.User.(*http2Client); ok {
		c.end(w, why)
	}
}

// Writable does nothing: the queue of a stream has its whole request.
func (c *http2Conn) Writable(*http2.Stream) {}

// Sent does nothing: the response decides when a request has ended.
func (c *http2Conn) Sent(*http2.Stream) {}

// GoAway makes the next request open another connection.
func (c *http2Conn) GoAway(uint32, http2.Code) { c.startClosing() }

// Turn notices the server's SETTINGS, which say how many streams it accepts.
func (c *http2Conn) Turn() {
	if !c.isReady && c.h2.HTTP2().PeerReady() {
		c.isReady = true
		close(c.ready)
		c.room.Broadcast()
	}
}
