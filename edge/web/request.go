package web

import (
	"errors"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/mediatype"
	"example.com/ferry/loop"
	"example.com/ferry/protocol/native"
	"example.com/ferry/protocol/websocket"

	wire "example.com/ferry/protocol/http1"
)

// requestState is the phase of a request.
//
//	              loggingIn
//	                ▲   │ again
//	                │   ▼     head               body
//	inactive ─► readingHead ─► readingBody ─► settling ─► responded: inactive, and another handler for the connection
//	                    │            │  ▲                     ▲
//	                    │            ▼  │ credit              │
//	                    │         waiting ── StoreTimeout ────┤
//	                    └───────── refused, or no body ───────┘
type requestState uint8

const (
	inactive    requestState = iota
	readingHead              // the head is not complete
	loggingIn                // the head stays unread while the password is compared: reading is paused
	readingBody              // what the request publishes arrives
	waiting                  // the tag has no credit: reading is paused
	settling                 // all is published; the response waits until it is stored
)

// request is a request of a connection, from its first byte to its response. During that time it handles the connection. A loopState
// uses it again for other requests.
type request struct {
	ls         *loopState
	conn       *loop.Conn
	generation uint32 // differs for each use of the object
	state      requestState
	headTimed  bool
	halfClosed bool // the client has ended its side
	draining   bool // the connection closes after the response

	head      wire.Head
	body      wire.Body
	keepAlive bool
	origin    string // value of Access-Control-Allow-Origin; "" means none
	fields    requestFields

	compared bool             // the password of Basic was compared, with this result:
	proved   *broker.Identity // nil if it is a token, or without one
	loginErr error

	publishing
}

var _ loop.Shutdowner = (*request)(nil)

// requestFields are the fields of a head that the server reads, as views of it.
type requestFields struct {
	authorization, contentType, ack, origin, fetchSite, referer, key, id, lastEvent []byte
	preflight                                                                       bool // Access-Control-Request-Method
	browser                                                                         bool // User-Agent is a browser's
	shake                                                                           websocket.Handshake
}

// Opened does nothing: the connection is open when a request begins.
func (r *request) Opened(*loop.Conn) {}

// Data handles bytes of the request. Those of the next one stay unread until the response.
func (r *request) Data(c *loop.Conn, p []byte) int {
	n := 0
	if r.state == inactive {
		r.state = readingHead
	}
	if r.state == readingHead {
		if n = r.readHead(p); n == 0 {
			return 0
		}
	}
	if r.state == readingBody {
		n += r.readBody(p[n:])
	}
	switch r.state {
	case waiting, settling:
		c.PauseReading()
	case inactive:
		if n < len(p) { // the next request, for another handler
			c.PauseReading()
			c.ResumeReading()
		}
	}
	return n
}

// readHead returns the length of the head, or 0 if it is not complete.
func (r *request) readHead(p []byte) int {
	n, err := wire.ParseRequest(p, &r.head, edge.HeadLimits)
	if err != nil {
		r.keepAlive = false
		r.ls.server.Unreadable(r.conn, p)
		r.refuse(edge.Malformed(err))
		return len(p)
	}
	if n == 0 {
		if !r.headTimed {
			r.headTimed = true
			r.conn.SetTimer(idleTimer, r.ls.server.Config().HandshakeTimeout)
		}
		r.ls.Hold(r.conn, len(p)) // may close it
		return 0
	}
	r.conn.SetTimer(idleTimer, r.ls.server.Config().WriteTimeout)
	r.fields = requestFields{} // the head may be read a second time
	r.keepAlive = r.head.KeepAlive && !r.draining && !r.ls.server.draining.Load()
	r.body = r.head.Body(nil)
	if r.route(p[:n]); r.state == loggingIn {
		r.ls.Hold(r.conn, n) // may close it
		return 0
	}
	return n
}

// readBody passes on the content of the body as it arrives.
func (r *request) readBody(p []byte) (n int) {
	if len(p) > 0 {
		r.conn.SetTimer(idleTimer, r.ls.server.Config().WriteTimeout)
	}
	for r.state == readingBody && !r.body.Done() {
		took, part, err := r.body.Next(p[n:])
		if err != nil {
			r.keepAlive = false
			r.fail(400, "bad_request", err.Error())
			return len(p)
		}
		if took == 0 {
			return n
		}
		content := part.Content.Of(p[n:])
		n += took
		if len(content) > 0 {
			r.publishContent(content, r.body.Done())
		}
	}
	if r.state == readingBody {
		r.endContent()
	}
	return n
}

// Drained does nothing: a request writes one response.
func (r *request) Drained(*loop.Conn) {}

// HalfClosed ends a request that can never be complete.
func (r *request) HalfClosed(c *loop.Conn) {
	r.halfClosed = true
	if r.state <= readingBody {
		r.release()
		r.ls.End(c)
	}
}

// Timer ends a request that makes no progress.
func (r *request) Timer(*loop.Conn, int) {
	r.keepAlive = false
	switch r.state {
	case waiting:
		r.fail(503, "no_credit", "the tag has no credit: a subscriber with policy block is slow, or the storage is")
	case loggingIn:
		r.fail(503, "busy", "too many logins wait: try again later")
	case settling:
		r.fail(503, "not_stored", "the messages are not stored yet: the storage is slow. They may be stored later")
	default:
		r.fail(408, "timeout", "the request did not arrive in time")
	}
}

// Closed ends the request: the client has left.
func (r *request) Closed(c *loop.Conn, _ error) {
	r.ls.Closed(c)
	r.release()
}

// Shutdown closes the connection after the response.
func (r *request) Shutdown(c *loop.Conn) {
	r.draining, r.keepAlive = true, false
	if r.state == readingHead || r.state == loggingIn {
		r.release()
		c.Close()
	}
}

// finish gives the connection to the next request, or closes it, after the response was written.
func (r *request) finish() {
	c, keepAlive, halfClosed, ls := r.conn, r.keepAlive, r.halfClosed, r.ls
	r.release()
	if !keepAlive {
		ls.End(c)
		return
	}
	c.SetHandler(ls.idle)
	c.SetTimer(idleTimer, ls.server.cfg.IdleTimeout)
	if len(c.Unread()) > 0 {
		c.PauseReading()
	} else if halfClosed {
		c.CloseWrite()
	}
	c.ResumeReading()
}

// release returns the object to its loop. The connection has another handler by then, or gets one.
func (r *request) release() {
	if r.client != nil {
		r.client.leave(r.tag, r)
	}
	r.carry.release()
	r.head.Reset()
	r.generation++
	r.conn, r.state, r.headTimed, r.halfClosed, r.draining = nil, inactive, false, false, false
	r.compared, r.proved, r.loginErr = false, nil, nil
	r.keepAlive, r.origin, r.fields, r.publishing = false, "", requestFields{}, publishing{extension: r.extension[:0], failures: r.failures[:0]}
	if len(r.ls.free) < maxFreeRequests {
		r.ls.free = append(r.ls.free, r)
	}
}

// carry keeps content that is not complete or waits for credit.
type carry struct{ buf *bufpool.Buf }

func (k *carry) bytes() []byte {
	if k.buf == nil {
		return nil
	}
	return k.buf.B
}

func (k *carry) append(p []byte) {
	k.buf = bufpool.Grow(k.buf, len(p))
	k.buf.B = append(k.buf.B, p...)
}

// cut removes the first n bytes.
func (k *carry) cut(n int) {
	switch {
	case k.buf == nil || n == 0:
	case n == len(k.buf.B):
		k.release()
	default:
		k.buf.B = k.buf.B[:copy(k.buf.B, k.buf.B[n:])]
	}
}

func (k *carry) release() {
	if k.buf != nil {
		k.buf.Release()
		k.buf = nil
	}
}

// payloadType returns the type of payloads of a media type. Without one, and with that of forms, which curl sends, a payload is JSON.
func payloadType(media string) (t ferry.Type, known bool) {
	if media == "" || media == "application/x-www-form-urlencoded" {
		return ferry.JSON, true
	}
	return mediatype.Type(media)
}

// ndjson are the media types of a batch of messages, one a line.
var ndjson = map[string]bool{"application/x-ndjson": true, "application/ndjson": true, "application/jsonl": true}

// errorOf returns status, code and text for an error of the broker.
func errorOf(err error) (status int, code, reason string) {
	var e *native.Error
	if !errors.As(err, &e) {
		return 500, "internal", err.Error()
	}
	switch e.Code {
	case native.CodeUnauthenticated:
		return 401, "unauthenticated", e.Reason
	case native.CodeForbidden:
		return 403, "forbidden", e.Reason
	case native.CodeTooLarge:
		return 413, "too_large", e.Reason
	case native.CodeLimit:
		return 429, "limit", e.Reason
	case native.CodeInvalid:
		return 422, "invalid", e.Reason
	case native.CodeDraining:
		return 503, "draining", e.Reason
	}
	return 400, "bad_request", e.Reason
}

const dateInterval = time.Second
