package web

import (
	"bytes"
	"errors"
	"net/url"
	"strconv"

	"example.com/ferry/edge"
	"example.com/ferry/loop"
	"example.com/ferry/protocol/native"
)

// events is a connection with a stream of server-sent events.
type events struct {
	sub     subscriber
	conn    *loop.Conn
	chunked bool
	left    bool // the stream has ended
}

var (
	_ loop.Handler    = (*events)(nil)
	_ loop.Shutdowner = (*events)(nil)
)

// beginEvents handles the head of a GET.
func (r *request) beginEvents(who *credential, filter string, query url.Values) {
	if !r.body.Done() {
		r.fail(400, "bad_request", "a subscription has no body")
		return
	}
	cfg, err := r.subscription(filter, query)
	if err != nil {
		r.fail(errorOf(err))
		return
	}
	e := &events{conn: r.conn, chunked: r.head.Minor > 0}
	e.sub.flush, e.sub.finish = e.write, e.finish
	if err := e.sub.attach(r, who, cfg); err != nil {
		e.left = true
		r.fail(errorOf(err))
		return
	}
	r.keepAlive = e.chunked
	b := r.appendHead(r.ls.scratch[:0], 200)
	b = append(b, "Content-Type: text/event-stream\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\n"...)
	if e.chunked {
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	b = append(b, "\r\n"...)
	e.conn.Write(b)
	r.ls.scratch = b[:0]
	e.send([]byte("retry: 1000\n\n"))
	e.conn.SetHandler(e)
	e.conn.SetTimer(idleTimer, r.ls.server.cfg.PingInterval)
	r.ls.server.counters.events.Add(1)
	r.release()
}

// send writes a piece of the stream.
func (e *events) send(p []byte) {
	if !e.chunked {
		e.conn.Write(p)
		return
	}
	var head [20]byte
	e.conn.Write(append(strconv.AppendInt(head[:0], int64(len(p)), 16), '\r', '\n'))
	e.conn.Write(p)
	e.conn.Write([]byte("\r\n"))
}

// write writes what the broker has delivered.
func (e *events) write() {
	if e.left {
		return
	}
	if queue := e.sub.take(); queue != nil {
		e.send(queue.B)
		queue.Release()
	}
	if !e.conn.Full() {
		e.sub.resume()
	}
}

// finish ends the stream because of why.
func (e *events) finish(why error) {
	if e.left {
		return
	}
	e.write()
	_, code, reason := errorOf(why)
	e.send(append(append([]byte("event: end\ndata: "), bytes.TrimSpace(edge.Problem(code, reason))...), "\n\n"...))
	if e.chunked {
		e.conn.Write([]byte("0\r\n\r\n"))
	}
	e.leave()
	e.sub.ls.End(e.conn)
}

// leave ends the client of the broker.
func (e *events) leave() {
	e.left = true
	e.sub.end()
	e.sub.ls.server.counters.events.Add(-1)
}

// Opened does nothing: the connection is open.
func (e *events) Opened(*loop.Conn) {}

// Data discards what the client sends: no further request is served on the connection.
func (e *events) Data(_ *loop.Conn, p []byte) int { return len(p) }

// Drained writes what has gathered.
func (e *events) Drained(*loop.Conn) { e.write() }

// HalfClosed ends the stream: the client has left.
func (e *events) HalfClosed(c *loop.Conn) {
	e.leave()
	e.sub.ls.End(c)
}

// Timer keeps the stream alive, and ends it if the client does not read.
func (e *events) Timer(c *loop.Conn, _ int) {
	if e.sub.stalled() {
		c.Abort(errStalled)
		return
	}
	if c.Queued() == 0 {
		e.send([]byte(":\n\n"))
	}
	c.SetTimer(idleTimer, e.sub.ls.server.cfg.PingInterval)
}

// Closed ends the client of the broker.
func (e *events) Closed(c *loop.Conn, _ error) {
	e.sub.ls.Closed(c)
	if !e.left {
		e.leave()
	}
}

// Shutdown ends the stream.
func (e *events) Shutdown(*loop.Conn) {
	e.finish(&native.Error{Code: native.CodeDraining, Reason: "the node is stopping"})
}

var errStalled = errors.New("web: the client does not read")
