package h1conn

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/http1"
)

// Client is a client's end of a connection. One goroutine uses it at a time.
type Client struct {
	source
	limits *http1.Limits
	most   int // bytes of the body of a response
	out    []byte
	timed  bool // a deadline is set
	served int  // responses that came whole
	method string
}

// NewClient returns the client's end of nc. The body of a response has at most maxBody bytes.
func NewClient(nc net.Conn, limits *http1.Limits, maxBody int) *Client {
	return &Client{source: source{nc: nc, buf: make([]byte, smallBuffer)}, limits: limits, most: maxBody}
}

// Responses returns how many responses have come whole.
func (c *Client) Responses() int { return c.served }

// NetConn returns the connection.
func (c *Client) NetConn() net.Conn { return c.nc }

// SetDeadline bounds the next requests. The zero time removes the bound, which costs nothing if there is none.
func (c *Client) SetDeadline(at time.Time) {
	if c.timed || !at.IsZero() {
		_ = c.nc.SetDeadline(at)
		c.timed = !at.IsZero()
	}
}

// Result is a response.
type Result struct {
	Status    int
	Fields    []Field
	Body      []byte // until Release
	KeepAlive bool   // another request may follow
	Unhandled bool   // the server has certainly not handled the request. It is set beside errors, too
	body      *bufpool.Buf
}

// Release gives back the memory of Body. It may be left out.
func (r *Result) Release() {
	if r.body != nil {
		r.body.Release()
		r.Body, r.body = nil, nil
	}
}

// ErrGoodbye means that the server has closed the connection before it has handled the request.
var ErrGoodbye = errors.New("http1: the server has closed the connection before it read the request")

// Do sends a request with a body, and reads its response. Content-Length is added.
func (c *Client) Do(method, target string, fields []Field, body []byte) (Result, error) {
	out := append(append(append(append(c.out[:0], method...), ' '), target...), " HTTP/1.1\r\nContent-Length: "...)
	out = append(strconv.AppendInt(out, int64(len(body)), 10), "\r\n"...)
	out = append(appendFields(out, fields), body...)
	if c.out = nil; cap(out) <= maxKept {
		c.out = out
	}
	n, writeErr := c.nc.Write(out)
	if writeErr != nil && n == 0 {
		return Result{Unhandled: true}, writeErr
	}
	if method != c.method { // it decides how a response is read
		c.method, c.last = method, lastHead{}
	}
	var r Result
	for { // after an error of Write, too: the server may have responded before it has read all
		_, fields, err := c.readHead(func(data []byte) (int, error) {
			return http1.ParseResponse(data, &c.head, http1.MethodOf([]byte(method)), c.limits)
		})
		switch {
		case err != nil && writeErr != nil:
			return Result{}, writeErr
		case err != nil && errors.Is(err, io.EOF):
			return Result{}, errors.New("http1: the server has closed the connection without a response")
		case err != nil:
			return Result{}, err
		case c.head.Status < 200 && c.head.Status != http.StatusSwitchingProtocols:
			continue
		}
		r = Result{Status: c.head.Status, Fields: fields, KeepAlive: c.head.KeepAlive && writeErr == nil}
		break
	}
	b := c.head.Body(c.limits)
	if c.head.Framing == http1.Tunnel {
		return r, errors.New("http1: the server switches to another protocol")
	}
	if r.Status == http.StatusRequestTimeout && !r.KeepAlive && b.Done() {
		r.Unhandled = true
		return r, ErrGoodbye
	}
	var err error
	if r.body, err = c.readBody(&b, c.most, nil); err != nil {
		return r, err
	} else if r.body != nil {
		r.Body = r.body.B
	}
	c.served++
	r.KeepAlive = r.KeepAlive && c.r == c.w
	return r, nil
}
