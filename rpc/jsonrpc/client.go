package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/h1conn"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// conn is a client: call.Conn. It has a connection of HTTP/1.1 for each call in progress, and keeps those that are idle.
type conn struct {
	Protocol
	transport transport.Transport
	addr      string
	host      string
	limits    http1.Limits
	lastID    atomic.Uint64
	closing   chan struct{}
	ctx       context.Context // ends when Close gives up waiting
	cancel    context.CancelFunc
	places    chan struct{} // of connections in use
	ungreeted atomic.Bool   // the server closes a connection after a greeting, so there is none

	mu     sync.Mutex
	calls  int           // in progress
	err    error         // why no call is accepted
	closed bool          // Close was called
	empty  chan struct{} // closed when closed is set and calls is 0
	idle   []idleConn    // the one that was used last is at the end
	used   map[*h1conn.Client]struct{}
	expiry *time.Timer // closes idle connections; nil before the first one
}

// idleConn is a connection that no call uses.
type idleConn struct {
	*h1conn.Client
	since time.Time
}

// Dial implements call.Protocol. It opens one connection, which the first call uses, so that the error of an address without a server
// comes from Dial.
func (p Protocol) Dial(ctx context.Context, t transport.Transport, addr string) (call.Conn, error) {
	p = p.withDefaults()
	if p.MaxConns == 0 {
		p.MaxConns = defaultClientConns
	}
	c := &conn{
		Protocol: p, transport: t, addr: addr, host: hostOf(addr), closing: make(chan struct{}), empty: make(chan struct{}),
		places: make(chan struct{}, p.MaxConns), used: make(map[*h1conn.Client]struct{}),
		limits: http1.Limits{MaxHead: maxHeader, MaxFieldLine: maxFieldLine, MaxFields: maxFields},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	first, err := c.connect(ctx)
	if err != nil {
		c.cancel()
		return nil, err
	}
	c.keep(first)
	return c, nil
}

// hostOf returns the Host of requests to addr: addr itself, or a name in place of the path of a socket.
func hostOf(addr string) string {
	if _, port, err := net.SplitHostPort(addr); err == nil && port != "" {
		return addr
	}
	return "localhost"
}

// connect returns a new connection on which the server has sent a response: a server that stops resets the connections that wait to be
// accepted, with the calls in them. A server that drains gives an error.
func (c *conn) connect(ctx context.Context) (*h1conn.Client, error) {
	nc, err := c.transport.Dial(ctx, c.addr)
	if err != nil {
		return nil, err
	}
	client := h1conn.NewClient(nc, &c.limits, c.MaxMessage)
	if c.ungreeted.Load() {
		return client, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	resp, err := client.Do(http.MethodOptions, "/", []h1conn.Field{{Name: "Host", Value: c.host}}, nil)
	if !stop() {
		err = ctx.Err()
	}
	switch {
	case h1conn.Get(resp.Fields, drainingField) != "":
		err = errDraining
	case err != nil && !errors.Is(err, h1conn.ErrTooLarge):
		err = fmt.Errorf("jsonrpc: %s sends no response: %w", c.addr, err)
	case err == nil && resp.KeepAlive:
		return client, nil
	default: // a server of others, which closes after such a request
		_ = nc.Close()
		c.ungreeted.Store(true)
		return c.connect(ctx)
	}
	_ = nc.Close()
	return nil, err
}

var (
	errClosed   = errors.New("jsonrpc: the connection is closed")
	errDraining = errors.New("jsonrpc: the server is draining")
)

// do sends the request of a call on a connection and reads the response. unsent says that no server has handled the request.
func (c *conn) do(ctx context.Context, cc *clientCall) (r h1conn.Result, unsent bool, err error) {
	if err := c.take(ctx, cc.deadline); err != nil {
		return r, true, err
	}
	defer func() { <-c.places }()
	for {
		client, fresh, err := c.client(ctx, cc.deadline)
		if err != nil {
			return r, true, err
		}
		r, err = c.exchangeOn(ctx, client, cc)
		switch {
		case h1conn.Get(r.Fields, drainingField) != "":
			c.stop(errDraining)
		case r.Unhandled && !fresh && ctx.Err() == nil:
			continue // the server has closed an idle connection
		}
		if errors.Is(err, h1conn.ErrTooLarge) {
			err = c.tooLarge()
		}
		return r, r.Unhandled, err
	}
}

// take waits for a place among the connections in use.
func (c *conn) take(ctx context.Context, deadline time.Time) error {
	select {
	case c.places <- struct{}{}:
		return nil
	default:
	}
	var expired <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case c.places <- struct{}{}:
		return nil
	case <-expired:
		return context.DeadlineExceeded
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return errClosed
	}
}

// client returns an idle connection, or a fresh one.
func (c *conn) client(ctx context.Context, deadline time.Time) (client *h1conn.Client, fresh bool, err error) {
	for {
		c.mu.Lock()
		n := len(c.idle)
		if n == 0 {
			c.mu.Unlock()
			break
		}
		idle := c.idle[n-1]
		client = idle.Client
		c.idle[n-1] = idleConn{}
		c.idle = c.idle[:n-1]
		c.used[client] = struct{}{}
		c.mu.Unlock()
		if client.Responses() >= trustedResponses && time.Since(idle.since) < trustTime || client.Alive() {
			return client, false, nil
		}
		c.drop(client)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !deadline.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	defer context.AfterFunc(c.ctx, cancel)()
	if client, err = c.connect(ctx); err != nil {
		return nil, true, err
	}
	c.mu.Lock()
	c.used[client] = struct{}{}
	c.mu.Unlock()
	if c.ctx.Err() != nil { // Close has not seen it
		c.drop(client)
		return nil, true, errClosed
	}
	return client, true, nil
}

// exchangeOn makes the call on a connection, which is kept or closed afterwards.
func (c *conn) exchangeOn(ctx context.Context, client *h1conn.Client, cc *clientCall) (h1conn.Result, error) {
	client.SetDeadline(cc.deadline)
	var stop func() bool
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, func() { _ = client.NetConn().SetDeadline(time.Unix(1, 0)) })
	}
	r, err := client.Do(http.MethodPost, cc.path, cc.fields, cc.body.B)
	interrupted := stop != nil && !stop()
	if err != nil || !r.KeepAlive || interrupted {
		c.drop(client)
		return r, err
	}
	c.keep(client)
	return r, nil
}

// keep makes a connection idle.
func (c *conn) keep(client *h1conn.Client) {
	c.mu.Lock()
	delete(c.used, client)
	if c.closed {
		c.mu.Unlock()
		_ = client.NetConn().Close()
		return
	}
	c.idle = append(c.idle, idleConn{client, time.Now()})
	if c.expiry == nil {
		c.expiry = time.AfterFunc(clientIdleTimeout, c.expire)
	}
	c.mu.Unlock()
}

// drop closes a connection that was in use.
func (c *conn) drop(client *h1conn.Client) {
	_ = client.NetConn().Close()
	c.mu.Lock()
	delete(c.used, client)
	c.mu.Unlock()
}

// expire closes the connections that were not used for clientIdleTimeout.
func (c *conn) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(c.idle) && time.Since(c.idle[n].since) >= clientIdleTimeout {
		_ = c.idle[n].NetConn().Close()
		n++
	}
	c.idle = append(c.idle[:0], c.idle[n:]...)
	if !c.closed {
		c.expiry.Reset(clientIdleTimeout / 4)
	}
}

// begin counts a call in, unless the connection accepts none.
func (c *conn) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.calls++
	}
	return c.err
}

func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls--; c.calls == 0 && c.closed {
		close(c.empty)
	}
}

// stop makes c accept no further call because of err.
func (c *conn) stop(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.closing)
	}
}

// Closing implements call.Conn.
func (c *conn) Closing() <-chan struct{} { return c.closing }

// Err implements call.Conn.
func (c *conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close implements call.Conn.
func (c *conn) Close(ctx context.Context) error {
	c.stop(errClosed)
	c.mu.Lock()
	if !c.closed {
		if c.closed = true; c.calls == 0 {
			close(c.empty)
		}
		if c.expiry != nil {
			c.expiry.Stop()
		}
	}
	for _, i := range c.idle {
		_ = i.NetConn().Close()
	}
	c.idle = nil
	c.mu.Unlock()
	var err error
	select {
	case <-c.empty:
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.cancel()
	c.mu.Lock()
	for client := range c.used {
		_ = client.NetConn().Close()
	}
	c.mu.Unlock()
	return err
}

// Open implements call.Conn.
func (c *conn) Open(context.Context, *call.Head) (call.ClientStream, error) {
	return nil, call.Errorf(call.Unimplemented, "jsonrpc: JSON-RPC has no streams: use another protocol")
}
