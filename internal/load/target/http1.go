package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/load"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/transport"
)

// HTTP1 is a server of HTTP/1.1. Each worker has a connection, which it uses for one request after another.
type HTTP1 struct {
	Transport transport.Transport
	Addr      string
	Request   HTTPRequest
	Timeout   time.Duration // of a request; 0 means 10 s
}

// Connect connects a worker.
func (t *HTTP1) Connect(ctx context.Context, _ int) (load.Client, error) {
	method, err := t.Request.check()
	if err != nil {
		return nil, err
	}
	c := &http1Client{
		target: t, method: method, request: t.Request.appendHTTP1(nil, t.Addr),
		socket: newSocket(t.Transport, t.Addr, t.Timeout), buf: make([]byte, 16<<10),
	}
	_, err = c.socket.begin(ctx)
	return c, err
}

type http1Client struct {
	target  *HTTP1
	method  http1.Method
	request []byte
	socket  *socket
	buf     []byte
	head    http1.Head
}

func (c *http1Client) Close() { c.socket.close() }

// Do sends the request and reads the response.
func (c *http1Client) Do(ctx context.Context) error {
	nc, err := c.socket.begin(ctx)
	if err != nil {
		return failed(err)
	}
	if _, err = nc.Write(c.request); err != nil {
		c.socket.drop()
		return failed(err)
	}
	status, err := c.read(nc)
	if err != nil || !c.head.KeepAlive {
		c.socket.drop()
	}
	if err != nil {
		var wrong *http1.Error
		if errors.As(err, &wrong) {
			return unexpected("not HTTP/1.1", balance.Failure, err)
		}
		return failed(err)
	}
	return c.target.Request.checkStatus(status)
}

// read reads one response and returns its status.
func (c *http1Client) read(r io.Reader) (status int, err error) {
	n, used := 0, 0 // c.buf[used:n] has arrived and is not consumed
	c.head.Reset()
	for {
		for {
			length, err := http1.ParseResponse(c.buf[used:n], &c.head, c.method, nil)
			if err != nil {
				return 0, err
			}
			if length > 0 {
				used += length
				break
			}
			if n == len(c.buf) {
				if used > 0 {
					n, used = copy(c.buf, c.buf[used:n]), 0
				} else {
					c.buf = append(c.buf, make([]byte, len(c.buf))...)
				}
			}
			m, err := r.Read(c.buf[n:])
			if n += m; m == 0 && err != nil {
				return 0, err
			}
		}
		if c.head.Status >= 200 || c.head.Status == 101 {
			break
		}
	}
	if c.head.Framing == http1.Tunnel {
		return 0, fmt.Errorf("status %d ends HTTP/1.1 on the connection: remove the request's fields that ask for it", c.head.Status)
	}
	body := c.head.Body(nil)
	for !body.Done() {
		m, err := body.Take(c.buf[used:n])
		if err != nil {
			return 0, err
		}
		if used += m; body.Done() {
			break
		}
		n, used = copy(c.buf, c.buf[used:n]), 0
		m, err = r.Read(c.buf[n:])
		if n += m; m == 0 && errors.Is(err, io.EOF) {
			if err := body.End(); err != nil {
				return 0, err
			}
			break
		} else if m == 0 && err != nil {
			return 0, err
		}
	}
	if used < n {
		return 0, fmt.Errorf("%d bytes follow the response: %.40q", n-used, c.buf[used:n])
	}
	return c.head.Status, nil
}
