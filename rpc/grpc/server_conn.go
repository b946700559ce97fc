package grpc

import (
	"bytes"
	"time"

	"example.com/ferry/internal/compress"
	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/callctx"
	"example.com/ferry/rpc/internal/held"
)

// serverConn is the server's end of a connection.
type serverConn struct {
	link
	listener *listener
	peer     call.Peer
	started  []*serverCall // calls whose handlers begin when all that was read is handled

	others     http2.Handler // of requests that are not gRPC; nil if there is none
	othersTurn h2conn.Turner // others, if it is one
}

var (
	_ http2.Handler = (*serverConn)(nil)
	_ h2conn.Holder = (*serverConn)(nil)
	_ h2conn.Ticker = (*serverConn)(nil)
)

// request is what the head of a request says.
type request struct {
	timeout     time.Duration // 0 means none
	content     received
	compression string // of its messages
	response    string // compression of the response
}

// Headers begins a call. The end of a client's trailers ends its messages.
func (c *serverConn) Headers(s *http2.Stream, h *http2.Head, end bool) {
	if h.Trailers {
		c.Data(s, nil, end) // those of other requests are the end of a body, too
		return
	}
	if c.others != nil && !grpcwire.IsGRPC(h) {
		c.others.Headers(s, h, end)
		return
	}
	r, httpStatus, status := c.readHead(h)
	if status != nil {
		c.refuse(s, httpStatus, status)
		return
	}
	m, ok := readMetadata(h)
	if !ok {
		c.refuse(s, 200, statusf(call.InvalidArgument, "grpc: the metadata has a binary value that is not base64, or more than %d values", maxValues))
		return
	}
	f := c.listener.find(h.Path)
	if f.name == "" {
		c.refuse(s, 200, statusf(call.Unimplemented, "grpc: the path %.100q has not the form /service/method", h.Path))
		return
	}
	sc := newServerCall(c, s, f)
	sc.head = call.Head{Method: f.name, Content: r.content.content, Metadata: m, Compression: r.compression}
	sc.encoding, sc.compression, sc.wire = r.compression, r.response, r.content.wire
	if r.timeout > 0 {
		sc.head.Deadline = time.Now().Add(r.timeout)
	}
	sc.ctx = callctx.New(sc.head.Deadline)
	s.User = sc
	if end {
		sc.end(nil)
	}
	if !sc.single {
		c.start(sc)
		return
	}
	if end {
		sc.gather()
	}
}

// readHead judges the head of a request. If it is refused, status is set, and httpStatus is that of the response. A status repeats
// only the beginning of a value: the response must not be larger than heads may be.
func (c *serverConn) readHead(h *http2.Head) (r request, httpStatus int, status *call.Status) {
	if string(h.Method) != "POST" {
		return r, 405, statusf(call.Internal, "grpc: the request's method is %.100q, not POST", h.Method)
	}
	ok := false
	var accepted []byte
	accepts := false
	for i := range h.Len() {
		switch name, value := h.Field(i); string(name) {
		case "grpc-accept-encoding":
			accepted, accepts = value, true
		case "content-type":
			if r.content, ok = c.content.received(value); !ok {
				return r, 415, statusf(call.InvalidArgument, "grpc: the request's content type %.100q is not gRPC's", value)
			}
		case "grpc-timeout":
			timeout, valid := parseTimeout(value)
			if !valid {
				return r, 400, statusf(call.Internal, "grpc: grpc-timeout %.100q is not up to 8 digits and a unit", value)
			}
			r.timeout = max(timeout, 1)
		case "grpc-encoding":
			switch string(value) {
			case compress.Gzip:
				r.compression = compress.Gzip
			case compress.Zstd:
				r.compression = compress.Zstd
			case "identity", "":
			default:
				status = statusf(call.Unimplemented, "grpc: unknown grpc-encoding %.100q: choose one of %s", value, compress.Names)
			}
		}
	}
	if !ok {
		return r, 415, statusf(call.InvalidArgument, "grpc: the request has no content-type")
	}
	if !accepts || lists(accepted, r.compression) { // a client that compresses and names nothing accepts what it uses
		r.response = r.compression
	}
	return r, 200, status
}

// lists reports whether a list of names, separated by commas, has name.
func lists(list []byte, name string) bool {
	for one := range bytes.SplitSeq(list, []byte(",")) {
		if string(bytes.TrimSpace(one)) == name {
			return true
		}
	}
	return false
}

// refuse ends a request for which there is no call.
func (c *serverConn) refuse(s *http2.Stream, httpStatus int, status *call.Status) {
	e := s.BeginHeaders()
	e.Status(httpStatus)
	e.FieldString("content-type", grpcwire.ContentType)
	e.FieldString("grpc-accept-encoding", compress.Names)
	writeStatus(e, status, statusRoom(c.h2.HTTP2().PeerMaxHeader(), nil))
	e.End(true)
	s.Release()
}

// start lets the handler of a call begin.
func (c *serverConn) start(sc *serverCall) {
	sc.running = true
	c.started = append(c.started, sc)
}

// Turn is called when all that was read is handled. Handlers that began earlier would wait for the lock.
func (c *serverConn) Turn() {
	for i, sc := range c.started {
		c.listener.workers.Go(sc)
		c.started[i] = nil
	}
	c.started = c.started[:0]
	if c.othersTurn != nil {
		c.othersTurn.Turn()
	}
}

// Tick ends the calls whose requests were not complete in time: without it, a client could keep what it has sent in memory.
func (c *serverConn) Tick(now time.Time) {
	limit := c.cfg.RequestTimeout
	if limit < 0 {
		return
	}
	c.h2.HTTP2().Each(func(s *http2.Stream) {
		switch sc, ok := s.User.(*serverCall); {
		case !ok || sc.running:
		case sc.since.IsZero():
			sc.since = now
		case now.Sub(sc.since) >= limit:
			sc.fail(statusf(call.DeadlineExceeded, "grpc: the request was not complete after %v", limit))
		}
	})
}

// Hold counts what waits for the client in the queues of streams.
func (c *serverConn) Hold(n int) { c.account.Add(n) }

// spared is the number of bytes that a call may hold although its connection holds more than MaxHeld. A few large calls must not
// end all small ones.
const spared = held.Spared

// Data adds to a request.
func (c *serverConn) Data(s *http2.Stream, piece []byte, end bool) {
	sc, ok := s.User.(*serverCall)
	switch {
	case ok:
	case c.others != nil:
		c.others.Data(s, piece, end)
		return
	default:
		s.Consumed(len(piece))
		return
	}
	sc.arrive(piece)
	if end {
		sc.end(nil)
	}
	if sc.arrived() > spared && c.account.Full() {
		sc.fail(statusf(call.ResourceExhausted, "grpc: the messages that this connection holds exceed max_held, %d bytes, or its share of max_server_held, %d: send less at once",
			c.cfg.MaxHeld, c.cfg.MaxServerHeld))
		return
	}
	if !sc.running {
		sc.gather()
	}
}

// Reset cancels a call.
func (c *serverConn) Reset(s *http2.Stream, why http2.StreamError) {
	if sc, ok := s.User.(*serverCall); ok {
		sc.reset(why)
	} else if c.others != nil {
		c.others.Reset(s, why)
	} else {
		s.Release()
	}
}

// Writable lets Send continue.
func (c *serverConn) Writable(s *http2.Stream) {
	if sc, ok := s.User.(*serverCall); ok {
		signal(sc.writable)
	} else if c.others != nil {
		c.others.Writable(s)
	}
}

// Sent concerns other requests only.
func (c *serverConn) Sent(s *http2.Stream) {
	if c.others != nil {
		c.others.Sent(s)
	}
}

// GoAway does nothing: a client that opens no more calls still gets its responses.
func (c *serverConn) GoAway(uint32, http2.Code) {}
