package target

import (
	"context"
	"fmt"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/load"
	"example.com/ferry/protocol/bolt"
	"example.com/ferry/transport"
)

// Bolt is a server of SOFABolt. Each worker has a connection, which it uses for one request after another.
type Bolt struct {
	Transport transport.Transport
	Addr      string
	Request   bolt.Message  // its Type, Command and ID are set
	Timeout   time.Duration // of a request; 0 means 10 s
}

// Connect connects a worker.
func (t *Bolt) Connect(ctx context.Context, _ int) (load.Client, error) {
	c := &boltClient{socket: newSocket(t.Transport, t.Addr, t.Timeout), buf: make([]byte, 16<<10)}
	m := t.Request
	m.Type, m.Command, m.Timeout = bolt.Request, bolt.CommandRequest, c.socket.timeout
	var err error
	if c.request, err = bolt.Append(nil, m); err != nil {
		return nil, err
	}
	if c.frame, _, err = bolt.Next(c.request, bolt.Limits{}); err != nil {
		return nil, err
	}
	_, err = c.socket.begin(ctx)
	return c, err
}

type boltClient struct {
	socket  *socket
	request []byte
	frame   bolt.Frame // of request
	buf     []byte
}

func (c *boltClient) Close() { c.socket.close() }

// Do sends the request and reads the response.
func (c *boltClient) Do(ctx context.Context) error {
	nc, err := c.socket.begin(ctx)
	if err != nil {
		return failed(err)
	}
	c.frame.SetID(c.frame.ID() + 1)
	if _, err = nc.Write(c.request); err != nil {
		c.socket.drop()
		return failed(err)
	}
	for n := 0; ; {
		f, need, err := bolt.Next(c.buf[:n], bolt.Limits{})
		if err != nil {
			c.socket.drop()
			return unexpected("not SOFABolt", balance.Failure, err)
		}
		if need == 0 && n >= f.FrameLen() {
			return c.check(f, n)
		}
		if need == 0 && f.FrameLen() > len(c.buf) {
			c.buf = append(c.buf, make([]byte, f.FrameLen()-len(c.buf))...)
		}
		m, err := nc.Read(c.buf[n:])
		if n += m; m == 0 && err != nil {
			c.socket.drop()
			return failed(err)
		}
	}
}

// check returns the *load.Failure of a response that is not the expected one. n is the number of bytes that have arrived.
func (c *boltClient) check(f bolt.Frame, n int) error {
	if f.Type() != bolt.Response || f.ID() != c.frame.ID() || n > f.FrameLen() {
		c.socket.drop()
		return unexpected("wrong frame", balance.Failure, fmt.Errorf("%v %d and %d bytes more: want the response to %d", f.Type(), f.ID(), n-f.FrameLen(), c.frame.ID()))
	}
	if err := f.CheckCRC(); err != nil {
		c.socket.drop()
		return unexpected("wrong CRC", balance.Failure, err)
	}
	if f.Status() != bolt.StatusSuccess {
		return unexpected("status "+f.Status().String(), balance.Failure, fmt.Errorf("want %v", bolt.StatusSuccess))
	}
	return nil
}
