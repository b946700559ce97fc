package h1conn

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/http1"
)

// Config configures a server's connections. All fields but HTTP2 are required.
type Config struct {
	Limits        *http1.Limits
	MaxBody       int           // bytes of the body of a request
	HeaderTimeout time.Duration // to send the head of a request, and to begin the first one
	BodyTimeout   time.Duration // to send its body, and to take the response
	IdleTimeout   time.Duration // between requests

	// Handle responds to a request. The request is not used once Done of the response is called.
	Handle func(r *Request) Response

	// HTTP2 serves a connection that begins with the preface of HTTP/2. first has been read. Nil refuses it.
	HTTP2 func(first []byte)

	// Farewell are the fields of the goodbye of Drain, and of the responses to all requests after it.
	Farewell []Field
}

// Request is a request whose body is not read.
type Request struct {
	Method, Target string // as sent
	Path           string // of the target, without its query; / if an absolute target has none
	Fields         []Field
	conn           *Conn
	body           http1.Body
	bodyErr        error
}

// Memory counts the memory of a body before it is taken. An error ends the reading.
type Memory interface{ Take(bytes int) error }

// Body reads the body. m may be nil. The error is *http1.Error for a body that is malformed, and ErrTooLarge for one that exceeds Config.MaxBody.
func (r *Request) Body(m Memory) ([]byte, error) {
	c := r.conn
	c.limit = c.cfg.BodyTimeout
	if c.head.Expect {
		c.limitWrite(time.Now()) // that of the response before may have passed
		if _, err := io.WriteString(c.nc, http1.Continue); err != nil {
			return nil, err
		}
	}
	if c.body, r.bodyErr = c.readBody(&r.body, c.cfg.MaxBody, m); c.body == nil {
		return nil, r.bodyErr
	}
	return c.body.B, r.bodyErr
}

// Response is a response. Content-Length, Connection and Date are added.
type Response struct {
	Status int
	Fields []Field
	Body   []byte
	Done   func() // called when Body is not used any more; may be nil
}

// connState is the progress of a server's connection.
//
//	idle ──first byte──► receiving ──► handling ──response──► idle
//	  │                      │             └── Connection: close, error ──► ended
//	  └── Drain, IdleTimeout ──► parting ──client closes──► ended
//
// parting: the goodbye is sent, and what arrives is discarded.
type connState uint8

const (
	idle connState = iota
	receiving
	handling
	parting
)

// Conn is a server's end of a connection.
type Conn struct {
	source
	cfg    *Config
	begun  bool // a request has begun
	ctx    context.Context
	cancel context.CancelFunc
	out    []byte
	sentBy time.Time    // the deadline of writes
	body   *bufpool.Buf // of the request that is handled; nil if it was not read

	mu       sync.Mutex
	state    connState
	draining bool
	handler  Context       // of the request that is handled; nil if there is none
	watched  chan struct{} // closed when the goroutine of watch has ended; nil if there is none
	watch    *time.Timer   // begins watching a handler's connection
}

// NewConn returns the server's end of nc. Serve serves it.
func NewConn(nc net.Conn, cfg *Config) *Conn {
	c := &Conn{source: source{nc: nc, buf: make([]byte, smallBuffer)}, cfg: cfg}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Done returns a channel that is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// NetConn returns the connection.
func (c *Conn) NetConn() net.Conn { return c.nc }

// Serve handles the requests of the connection, one after another, until it ends. It closes the connection.
func (c *Conn) Serve() {
	defer func() {
		c.cancel()
		_ = c.nc.Close()
	}()
	if !c.awaitRequest() {
		return
	}
	if c.cfg.HTTP2 != nil && c.isHTTP2() {
		_ = c.nc.SetDeadline(time.Time{})
		c.cfg.HTTP2(c.buf[c.r:c.w])
		return
	}
	for c.serveRequest() && c.awaitRequest() {
	}
}

// preface is how the preface of HTTP/2 begins, and no request of HTTP/1.1 with a method that is known. RFC 9113, section 3.4.
const preface = "PRI "

// isHTTP2 reports whether the first bytes are the preface. An error of reading comes again with the head of the request.
func (c *Conn) isHTTP2() bool {
	for {
		have := c.buf[c.r:c.w]
		switch n := min(len(have), len(preface)); {
		case string(have[:n]) != preface[:n]:
			return false
		case n == len(preface):
			return true
		}
		if c.fill() != nil {
			return false
		}
	}
}

// Close ends the connection at once.
func (c *Conn) Close() {
	_ = c.nc.Close() // first: the response of a handler whose context ends must not be sent
	c.left()
}

// BeginDrain makes the next response the last one of the connection. One that is not served yet gets the goodbye at once.
func (c *Conn) BeginDrain() {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
}

// Drain says goodbye if the connection is idle. A request that has begun gets its response, which ends the connection. It may wait for the
// client, for a second at most.
func (c *Conn) Drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	if c.state == idle {
		c.sayGoodbye(c.cfg.Farewell)
	}
}

const (
	partingTime = time.Second // for what a client has sent meanwhile to arrive, and for the client to close its side
	farewell    = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n"
)

// sayGoodbye ends an idle connection. It is called under the lock.
func (c *Conn) sayGoodbye(fields []Field) {
	c.state = parting
	_ = c.nc.SetDeadline(time.Now().Add(partingTime))
	_, err := c.nc.Write(appendFields([]byte(farewell), fields))
	if err == nil {
		err = closeWrite(c.nc)
	}
	if err != nil {
		_ = c.nc.Close()
	}
}

// closeWrite ends the direction of writing, where the transport can.
func closeWrite(nc net.Conn) error {
	if h, ok := nc.(interface{ CloseWrite() error }); ok { // transport.HalfCloser
		return h.CloseWrite()
	}
	return nil
}

// awaitRequest waits for the first byte of a request. It returns false at the end of the connection.
func (c *Conn) awaitRequest() bool {
	c.mu.Lock()
	if c.r < c.w { // the connection is not idle: no goodbye may come before the response
		c.state = receiving
		c.mu.Unlock()
		return true
	}
	c.state = idle
	if len(c.buf) > smallBuffer {
		c.buf = make([]byte, smallBuffer)
	}
	if c.draining {
		c.sayGoodbye(c.cfg.Farewell)
	} else {
		wait := c.cfg.IdleTimeout
		if !c.begun {
			wait = c.cfg.HeaderTimeout
		}
		if now := time.Now(); c.readBy.Sub(now) < lately(wait) {
			c.readBy = now.Add(wait)
			_ = c.nc.SetReadDeadline(c.readBy)
		}
	}
	c.begun, c.limit = true, 0
	c.mu.Unlock()
	err := c.fill()
	c.mu.Lock()
	switch {
	case c.state == parting:
	case isTimeout(err):
		c.sayGoodbye(nil)
		err = nil
	case err == nil:
		c.state = receiving
	}
	ends := c.state == parting
	c.mu.Unlock()
	if ends {
		c.discard(err)
	}
	return !ends && err == nil
}

// lately is how much of a time limit must be left for a deadline to be used again: setting one for each request costs more than reading its head.
func lately(limit time.Duration) time.Duration { return limit - limit/8 }

// limitWrite bounds the writes from now on.
func (c *Conn) limitWrite(now time.Time) {
	if c.sentBy.Sub(now) < lately(c.cfg.BodyTimeout) {
		c.sentBy = now.Add(c.cfg.BodyTimeout)
		_ = c.nc.SetWriteDeadline(c.sentBy)
	}
}

func isTimeout(err error) bool {
	if err == nil {
		return false
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// discard reads until the client has closed its side, or partingTime has passed: closing earlier could destroy what was sent last.
func (c *Conn) discard(err error) {
	for c.limit = 0; err == nil; {
		c.r, c.w = 0, 0
		err = c.fill()
	}
}

// serveRequest handles one request. It returns false if no other one follows.
func (c *Conn) serveRequest() bool {
	c.limit = c.cfg.HeaderTimeout
	text, fields, err := c.readHead(func(data []byte) (int, error) { return http1.ParseRequest(data, &c.head, c.cfg.Limits) })
	if err != nil {
		var bad *http1.Error
		switch {
		case errors.As(err, &bad):
			c.refuse(bad.Status, bad.Reason)
		case isTimeout(err):
			c.refuse(http.StatusRequestTimeout, "the head of the request is not complete")
		}
		return false
	}
	r := Request{
		Method: text[c.head.MethodName.Start:c.head.MethodName.End], Target: text[c.head.Target.Start:c.head.Target.End], Fields: fields,
		Path: text[c.head.Path.Start:c.head.Path.End], conn: c, body: c.head.Body(c.cfg.Limits),
	}
	if r.Path == "" && c.head.Form == http1.Absolute {
		r.Path = "/"
	}
	isHead, keepAlive := c.head.Method == http1.MethodHead, c.head.KeepAlive
	response := c.cfg.Handle(&r)
	c.endWatch()
	keepAlive = keepAlive && r.body.Done() && r.bodyErr == nil
	goesOn := c.respond(&response, isHead, keepAlive, r.bodyErr != nil || !r.body.Done())
	if c.body != nil {
		c.body.Release()
		c.body = nil
	}
	return goesOn
}

// Context is the context of a handler.
type Context interface{ End(why error) }

// Watch ends ctx when Close is called, or when the client closes the connection and the body of the request was read. It has no effect once Handle
// has returned.
func (r *Request) Watch(ctx Context) {
	c := r.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handler = ctx
	switch {
	case c.ctx.Err() != nil:
		ctx.End(context.Canceled)
		return
	case !r.body.Done():
		return
	}
	c.limit, c.state = 0, handling
	if c.watch == nil {
		c.watch = time.AfterFunc(watchDelay, c.beginWatch)
	} else {
		c.watch.Reset(watchDelay)
	}
}

// left ends the context of the connection, and that of the handler.
func (c *Conn) left() {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handler != nil {
		c.handler.End(context.Canceled)
	}
}

// watchDelay is how long a handler runs until its connection is watched. Most end before, and cost no second goroutine.
const watchDelay = 2 * time.Millisecond

// beginWatch reads while a handler runs, to notice the end of the connection. A request that arrives early is kept.
func (c *Conn) beginWatch() {
	c.mu.Lock()
	if c.state != handling || c.watched != nil || c.r < c.w {
		c.mu.Unlock()
		return
	}
	done := make(chan struct{})
	c.watched = done
	_ = c.nc.SetReadDeadline(time.Time{})
	c.mu.Unlock()
	defer close(done)
	if err := c.fill(); err != nil && !isTimeout(err) {
		c.left()
	}
}

// endWatch ends the watching before the connection is used again.
func (c *Conn) endWatch() {
	c.mu.Lock()
	c.handler = nil
	if c.state != handling {
		c.mu.Unlock()
		return
	}
	c.state = receiving
	c.watch.Stop()
	done := c.watched
	c.watched = nil
	c.mu.Unlock()
	if done != nil {
		_ = c.nc.SetReadDeadline(time.Unix(1, 0))
		c.readBy = time.Time{}
		<-done
	}
}

// refuse responds to what is no request.
func (c *Conn) refuse(status int, reason string) {
	r := Response{Status: status, Fields: []Field{{"Content-Type", "text/plain; charset=utf-8"}}, Body: []byte(reason + "\n")}
	c.respond(&r, false, false, true)
}

// respond sends a response. unread says that bytes of the request may still arrive. It returns false if the connection has ended.
func (c *Conn) respond(r *Response, isHead, keepAlive, unread bool) bool {
	c.mu.Lock()
	draining := c.draining
	c.mu.Unlock()
	now := time.Now()
	out := c.out[:0]
	out = append(out, "HTTP/1.1 "...)
	out = strconv.AppendInt(out, int64(r.Status), 10)
	out = append(append(append(out, ' '), http.StatusText(r.Status)...), "\r\nDate: "...)
	out = append(append(out, Date(now)...), "\r\n"...)
	if r.Status != http.StatusNoContent {
		out = append(strconv.AppendInt(append(out, "Content-Length: "...), int64(len(r.Body)), 10), "\r\n"...)
	}
	switch {
	case draining || !keepAlive:
		out = append(out, "Connection: close\r\n"...)
	case c.head.Minor == 0:
		out = append(out, "Connection: keep-alive\r\n"...)
	}
	out = appendFields(out, r.Fields)
	if draining {
		out = appendFields(out[:len(out)-2], c.cfg.Farewell)
	}
	c.limitWrite(now)
	var err error
	switch {
	case isHead:
		_, err = c.nc.Write(out)
	case len(out)+len(r.Body) <= maxKept: // one write is worth a copy
		out = append(out, r.Body...)
		_, err = c.nc.Write(out)
	default:
		_, err = (&net.Buffers{out, r.Body}).WriteTo(c.nc)
	}
	if r.Done != nil {
		r.Done()
	}
	if cap(out) <= maxKept {
		c.out = out
	} else {
		c.out = nil
	}
	if err != nil {
		return false
	}
	if !draining && keepAlive {
		return true
	}
	if unread || draining { // closing with bytes that were not read would destroy the response
		_ = c.nc.SetDeadline(time.Now().Add(partingTime))
		if closeWrite(c.nc) == nil {
			c.discard(nil)
		}
	}
	return false
}

// dated is a second as the field Date writes it.
type dated struct {
	second time.Time
	text   string
}

var lastDate atomic.Pointer[dated]

// Date returns the field Date of a response at a time.
func Date(now time.Time) string {
	second := now.Truncate(time.Second)
	if d := lastDate.Load(); d != nil && d.second.Equal(second) {
		return d.text
	}
	d := &dated{second, now.UTC().Format(http.TimeFormat)}
	lastDate.Store(d)
	return d.text
}

// maxKept is the size up to which a response is written from memory that is used again.
const maxKept = 16 << 10
