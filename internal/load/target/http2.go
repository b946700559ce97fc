package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/internal/load"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/transport"
)

// HTTP2 is a server of HTTP/2: over TLS if the transport agrees on h2, otherwise with prior knowledge. The workers share connections.
// Each worker has one stream at a time.
type HTTP2 struct {
	Transport transport.Transport
	Addr      string
	Conns     int // connections; 0 means 4
	Request   HTTPRequest
	Timeout   time.Duration // of a request; 0 means 10 s

	shares shares[*http2Conn]
}

// Connect connects a worker.
func (t *HTTP2) Connect(ctx context.Context, worker int) (load.Client, error) {
	if _, err := t.Request.check(); err != nil {
		return nil, err
	}
	c := &http2Client{target: t, share: t.shares.of(worker, t.Conns, t.dial), timer: time.NewTimer(time.Hour), done: make(chan struct{}, 1)}
	if _, err := c.share.get(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// http2Client is a worker and its request. Its stream, status, err and ended need the connection's lock.
type http2Client struct {
	target *HTTP2
	share  *share[*http2Conn]
	timer  *time.Timer
	once   sync.Once

	stream *http2.Stream
	status int
	err    error
	ended  bool
	done   chan struct{} // signaled when ended becomes true
}

// Close leaves the connection.
func (c *http2Client) Close() { c.once.Do(c.share.leave) }

// Do sends a request and waits for the response.
func (c *http2Client) Do(ctx context.Context) error {
	conn, err := c.share.get(ctx)
	if err != nil {
		return failed(err)
	}
	c.timer.Reset(timeoutOf(c.target.Timeout))
	defer c.timer.Stop()
	if err := conn.send(c); err != nil {
		return failed(err)
	}
	err = nil
	select {
	case <-c.done:
	case <-c.timer.C:
		err = os.ErrDeadlineExceeded
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && conn.abort(c) {
		return failed(err)
	}
	if c.err != nil {
		var reset http2.StreamError
		if errors.As(c.err, &reset) {
			return &load.Failure{Kind: "stream reset", Outcome: balance.Reset, Err: c.err}
		}
		return failed(c.err)
	}
	return c.target.Request.checkStatus(c.status)
}

// writeHTTP2 writes the request's head.
func (r *HTTPRequest) writeHTTP2(e *http2.Encoder, scheme, addr string) {
	e.Method([]byte(r.methodName()))
	e.Scheme([]byte(scheme))
	e.Authority([]byte(r.authority(addr)))
	e.Path([]byte(r.path()))
	agent := false
	for _, f := range r.Header {
		if !strings.EqualFold(f[0], "Host") {
			e.FieldString(f[0], f[1])
			agent = agent || strings.EqualFold(f[0], "User-Agent")
		}
	}
	if !agent {
		e.FieldString("user-agent", "ferry-load")
	}
	if len(r.Body) > 0 {
		e.FieldString("content-length", fmt.Sprint(len(r.Body)))
	}
	e.End(len(r.Body) == 0)
}

// dial opens a connection and waits for the server's SETTINGS.
func (t *HTTP2) dial(ctx context.Context) (*http2Conn, error) {
	nc, err := t.Transport.Dial(ctx, t.Addr)
	if err != nil {
		return nil, err
	}
	c := &http2Conn{target: t, scheme: "http", ready: make(chan struct{}), closing: make(chan struct{})}
	if tls, ok := nc.(transport.Secured); ok {
		c.scheme = "https"
		if p := tls.ConnectionState().NegotiatedProtocol; p != "h2" {
			_ = nc.Close()
			return nil, fmt.Errorf("%s does not speak HTTP/2: it has agreed on %q", t.Addr, p)
		}
	}
	c.h2 = h2conn.Client(nc, nil, c)
	c.room = sync.NewCond(c.h2)
	go func() {
		_ = c.h2.Serve() // Err has the reason
		c.h2.Lock()
		c.startClosing()
		c.h2.Unlock()
	}()
	select {
	case <-c.ready:
		return c, nil
	case <-c.h2.Done():
		return nil, fmt.Errorf("%s does not speak HTTP/2: %w", t.Addr, c.h2.Err())
	case <-ctx.Done():
		c.h2.Close(ctx.Err())
		return nil, fmt.Errorf("%s sends no SETTINGS of HTTP/2: %w", t.Addr, ctx.Err())
	}
}
