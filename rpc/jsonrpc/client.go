package jsonrpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// conn is a client: call.Conn. net/http's Transport keeps its connections, of which there is one for each call in progress.
type conn struct {
	Protocol
	http    http.RoundTripper
	idle    func() // closes idle connections
	host    string
	lastID  atomic.Uint64
	closing chan struct{}
	ctx     context.Context // ends when Close gives up waiting
	cancel  context.CancelFunc

	mu     sync.Mutex
	calls  int           // in progress
	err    error         // why no call is accepted
	closed bool          // Close was called
	empty  chan struct{} // closed when closed is set and calls is 0
}

// Dial implements call.Protocol. It opens one connection, which the first call uses, so that the error of an address without a server
// comes from Dial.
func (p Protocol) Dial(ctx context.Context, t transport.Transport, addr string) (call.Conn, error) {
	nc, err := greeted(ctx, t, addr)
	if err != nil {
		return nil, err
	}
	c := &conn{Protocol: p.withDefaults(), host: hostOf(addr), closing: make(chan struct{}), empty: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if c.MaxConns == 0 {
		c.MaxConns = defaultClientConns
	}
	d := newDialer(t, addr, nc)
	tr := &http.Transport{
		DialContext:            d.dial,
		DisableCompression:     true,
		MaxIdleConns:           c.MaxConns,
		MaxIdleConnsPerHost:    c.MaxConns,
		MaxConnsPerHost:        c.MaxConns,
		IdleConnTimeout:        clientIdleTimeout,
		MaxResponseHeaderBytes: maxHeader,
	}
	c.http = tr
	c.idle = func() {
		d.close()
		tr.CloseIdleConnections()
	}
	return c, nil
}

// hostOf returns the Host of requests to addr: addr itself, or a name in place of the path of a socket.
func hostOf(addr string) string {
	if _, port, err := net.SplitHostPort(addr); err == nil && port != "" {
		return addr
	}
	return "localhost"
}

// dialer gives out the connection that Dial has made, and then new ones.
type dialer struct {
	t    transport.Transport
	addr string

	mu    sync.Mutex
	first net.Conn    // nil once it is in use
	timer *time.Timer // closes first
}

func newDialer(t transport.Transport, addr string, first net.Conn) *dialer {
	d := &dialer{t: t, addr: addr, first: first}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(firstConnExpiration, d.close) // a server closes connections that send nothing
	return d
}

func (d *dialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if nc := d.take(); nc != nil {
		return nc, nil
	}
	return greeted(ctx, d.t, d.addr)
}

// greeted returns a new connection on which the server has sent a response: a server that stops resets the connections that wait to be
// accepted, with the calls in them. A server that drains gives an error.
func greeted(ctx context.Context, t transport.Transport, addr string) (net.Conn, error) {
	nc, err := t.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	resp, err := greet(nc, hostOf(addr))
	if !stop() {
		err = ctx.Err()
	}
	switch {
	case err != nil:
		err = fmt.Errorf("jsonrpc: %s sends no response: %w", addr, err)
	case resp.Header.Get(drainingField) != "":
		err = fmt.Errorf("jsonrpc: the server at %s is draining", addr)
	case resp.Close: // a server of others, which closes after such a request
		nc.Close()
		return t.Dial(ctx, addr)
	default:
		return nc, nil
	}
	nc.Close()
	return nil, err
}

// greet sends a request that has no effect and reads its response.
func greet(nc net.Conn, host string) (*http.Response, error) {
	if _, err := io.WriteString(nc, "OPTIONS / HTTP/1.1\r\nHost: "+host+"\r\nContent-Length: 0\r\n\r\n"); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(io.LimitReader(nc, maxHeader)), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp, err
}

func (d *dialer) take() net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	nc := d.first
	d.first = nil
	d.timer.Stop()
	return nc
}

func (d *dialer) close() {
	if nc := d.take(); nc != nil {
		nc.Close()
	}
}

var errClosed = errors.New("jsonrpc: the connection is closed")

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
	}
	c.mu.Unlock()
	var err error
	select {
	case <-c.empty:
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.cancel()
	c.idle()
	return err
}

// Open implements call.Conn.
func (c *conn) Open(context.Context, *call.Head) (call.ClientStream, error) {
	return nil, call.Errorf(call.Unimplemented, "jsonrpc: JSON-RPC has no streams: use another protocol")
}
