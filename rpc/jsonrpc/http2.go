package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/ferry/internal/h1conn"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/callctx"
	"example.com/ferry/rpc/internal/held"
)

// OnHTTP2 returns a function that handles the requests of a connection of HTTP/2 for s, as Listen does. It serves the requests that are not gRPC of a
// listener of package rpc/grpc (its Config.Others), so that one address takes both.
func (p Protocol) OnHTTP2(s call.Service) func(c *h2conn.Conn, peer *call.Peer) http2.Handler {
	h := p.newHandler(s)
	return func(c *h2conn.Conn, peer *call.Peer) http2.Handler {
		two := newHTTP2Conn(h, peer)
		two.h2 = c
		return two
	}
}

// http2Conn handles the requests of one connection of HTTP/2. Each has a goroutine, which reads its body.
type http2Conn struct {
	*handler
	h2      *h2conn.Conn
	peer    *call.Peer
	account held.Shared
	running sync.WaitGroup // the requests
	begun   []*http2Request
}

var (
	_ http2.Handler = (*http2Conn)(nil)
	_ h2conn.Holder = (*http2Conn)(nil)
)

func newHTTP2Conn(h *handler, peer *call.Peer) *http2Conn {
	return &http2Conn{handler: h, peer: peer, account: held.NewShared(h.held, math.MaxInt)}
}

// http2Request is one request. Its stream, and what has arrived, are guarded by the lock of the connection.
type http2Request struct {
	conn         *http2Conn
	method, path string
	fields       []h1conn.Field
	length       int64 // of the body; -1 if the client does not say
	expect       bool  // the client waits for 100

	stream  *http2.Stream
	arrived []byte           // of the body, and not yet taken
	whole   bool             // nothing more arrives
	gone    bool             // the client has reset the stream
	ctx     *callctx.Context // of the handlers; nil before they begin

	// A token in one of these channels, which have room for one, says that Body or write should look again.
	readable, writable chan struct{}
}

// Headers begins a request. Trailers end its body.
func (c *http2Conn) Headers(s *http2.Stream, h *http2.Head, end bool) {
	if h.Trailers {
		c.Data(s, nil, end)
		return
	}
	path, _, _ := bytes.Cut(h.Path, []byte("?"))
	r := &http2Request{
		conn: c, method: string(h.Method), path: string(path), fields: fieldsOfHead(h), length: h.ContentLength, expect: h.Expect,
		stream: s, whole: end, readable: make(chan struct{}, 1), writable: make(chan struct{}, 1),
	}
	s.User = r
	c.running.Add(1)
	c.begun = append(c.begun, r)
}

// fieldsOfHead returns the fields of a head. All names and values lie in one piece of memory.
func fieldsOfHead(h *http2.Head) []h1conn.Field {
	size := 0
	for name, value := range h.All {
		size += len(name) + len(value)
	}
	var text strings.Builder
	text.Grow(size)
	add := func(p []byte) string {
		start := text.Len()
		text.Write(p)
		return text.String()[start:]
	}
	fields := make([]h1conn.Field, 0, h.Len())
	for name, value := range h.All {
		fields = append(fields, h1conn.Field{Name: add(name), Value: add(value)})
	}
	return fields
}

// Turn starts the requests that have begun. Earlier, their goroutines would wait for the lock.
func (c *http2Conn) Turn() {
	for i, r := range c.begun {
		go r.run()
		c.begun[i] = nil
	}
	c.begun = c.begun[:0]
}

// Data adds to the body of a request. What has arrived counts as held until it is taken, and then as any body.
func (c *http2Conn) Data(s *http2.Stream, p []byte, end bool) {
	r, ok := s.User.(*http2Request)
	if !ok {
		s.Consumed(len(p))
		return
	}
	r.arrived = append(r.arrived, p...)
	c.account.Add(len(p))
	r.whole = r.whole || end
	signal(r.readable)
}

// Reset ends a request whose client is gone. Its stream counts until its handler has returned, so that resets start no further handlers.
func (c *http2Conn) Reset(s *http2.Stream, _ http2.StreamError) {
	if r, ok := s.User.(*http2Request); ok {
		r.gone = true
		r.drop()
		signal(r.readable)
		signal(r.writable)
		r.endContext()
	}
}

// Writable lets a response continue.
func (c *http2Conn) Writable(s *http2.Stream) {
	if r, ok := s.User.(*http2Request); ok {
		signal(r.writable)
	}
}

// Sent does nothing: the response does not use the stream any more.
func (*http2Conn) Sent(*http2.Stream) {}

// Hold counts what waits for the client in the queues of streams.
func (c *http2Conn) Hold(n int) { c.account.Add(n) }

// GoAway does nothing: a client that sends no more requests still gets its responses.
func (c *http2Conn) GoAway(uint32, http2.Code) {}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// drop discards what has arrived. It needs the lock.
func (r *http2Request) drop() {
	r.conn.account.Add(-len(r.arrived))
	r.arrived = nil
}

// run handles the request.
func (r *http2Request) run() {
	c := r.conn
	defer c.running.Done()
	response := c.serve(r.path, request{carrier: r, method: r.method, fields: r.fields, peer: *c.peer, account: &c.account})
	r.respond(&response)
	if response.Done != nil {
		response.Done()
	}
}

// Begin returns the context of the handlers.
func (r *http2Request) Begin(deadline time.Time) context.Context {
	r.conn.h2.Lock()
	defer r.conn.h2.Unlock()
	r.ctx = callctx.New(deadline)
	if r.gone {
		r.endContext()
	}
	return r.ctx
}

// End ends it.
func (r *http2Request) End() { r.endContext() }

func (r *http2Request) endContext() {
	if r.ctx != nil {
		r.ctx.End(context.Canceled)
	}
}

// errGone is the error of a body whose client has reset the stream.
var errGone = errors.New("the client has ended the request")

// Body reads the body.
func (r *http2Request) Body(m h1conn.Memory) (body []byte, err error) {
	c := r.conn
	if r.length > int64(c.MaxMessage) {
		return nil, h1conn.ErrTooLarge
	}
	var late <-chan time.Time
	for {
		piece, whole, err := r.take()
		if err != nil {
			return nil, err
		}
		if len(body)+len(piece) > c.MaxMessage {
			return nil, h1conn.ErrTooLarge
		}
		if n := len(body) + len(piece); body == nil && whole { // the usual body arrives in one piece
			return piece, m.Take(cap(piece))
		} else if n > cap(body) {
			size := max(2*cap(body), n)
			if err := m.Take(size - cap(body)); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, size), body...)
		}
		body = append(body, piece...)
		if whole {
			return body, nil
		}
		if late == nil {
			timer := time.NewTimer(c.BodyTimeout)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-r.readable:
		case <-late:
			return nil, errors.New("the rest has not arrived in time")
		}
	}
}

// take returns what has arrived, and lets the client send as much again.
func (r *http2Request) take() (piece []byte, whole bool, err error) {
	c := r.conn
	c.h2.Lock()
	defer c.h2.Unlock()
	if r.gone {
		return nil, false, errGone
	}
	piece, r.arrived = r.arrived, nil
	c.account.Add(-len(piece))
	r.stream.Consumed(len(piece))
	if r.expect && !r.whole && len(piece) == 0 {
		e := r.stream.BeginHeaders()
		e.Status(http.StatusContinue)
		e.End(false)
	}
	r.expect = false
	return piece, r.whole, nil
}

// respond sends the response, unless the client is gone, and ends the use of the stream.
func (r *http2Request) respond(response *h1conn.Response) {
	h2 := r.conn.h2
	h2.Lock()
	defer h2.Unlock()
	if !r.gone {
		r.write(response)
	}
	r.drop()
	r.stream.Release()
}

// write sends the response. It needs the lock, which it unlocks while the queue of the stream has no room for the body. What is queued in the end is counted by
// Hold, and its time is bounded by h2conn.Config.StallTimeout.
func (r *http2Request) write(response *h1conn.Response) {
	e := r.stream.BeginHeaders()
	e.Status(response.Status)
	e.FieldString("date", h1conn.Date(time.Now()))
	if response.Status != http.StatusNoContent {
		e.FieldString("content-length", strconv.Itoa(len(response.Body)))
	}
	for _, f := range response.Fields {
		e.FieldString(f.Name, f.Value)
	}
	empty := len(response.Body) == 0 || r.method == http.MethodHead
	e.End(empty)
	if !empty {
		outgoing := h2conn.Outgoing{Writable: r.writable, Stream: func() (*http2.Stream, bool) { return r.stream, !r.gone }}
		r.conn.h2.WriteBody(outgoing, response.Body, true, h2conn.Until{Idle: r.conn.BodyTimeout})
	}
}
