package clientload

import (
	"context"
	"errors"
	"fmt"
	"net"

	wire "example.com/ferry/protocol/bolt"
)

// maxAgain bounds how often a client sends a request again.
const maxAgain = 10

// Bolt are clients of SOFABolt. Bolt has no message by which a server announces that it closes a connection. So a client reads its
// connection all the time, as SOFABolt's does, and connects again when the connection is closed. A request whose connection was closed
// before its response is sent again if it has not arrived at Server; otherwise it has failed.
type Bolt struct {
	Name   string
	Addr   string
	Server *BoltServer // behind Addr
}

// Kind returns the Kind of a Load.
func (b Bolt) Kind() Kind {
	return Kind{Name: b.Name, Connect: func(ctx context.Context, client int) (Client, error) {
		c := &boltClient{Bolt: b}
		return c, c.connect(ctx)
	}}
}

type boltClient struct {
	Bolt
	conn *boltConn
	last uint32 // id of the last request
}

func (c *boltClient) Close() {
	if c.conn != nil {
		_ = c.conn.Close()
		<-c.conn.ended
	}
}

func (c *boltClient) connect(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.Addr)
	if err != nil {
		return err
	}
	c.conn = &boltConn{Conn: conn, frames: make(chan boltResponse, 1), ended: make(chan struct{})}
	go c.conn.read()
	return nil
}

func (c *boltClient) Do(ctx context.Context, id string) (again int, err error) {
	for ; again <= maxAgain; again++ {
		select {
		case <-c.conn.ended:
			_ = c.conn.Close()
			if err := c.connect(ctx); err != nil {
				return again, err
			}
		default:
		}
		err := c.request(ctx, id)
		switch arrived := c.Server.arrived(id); {
		case err == nil && arrived == 1:
			return again, nil
		case arrived > 1:
			return again, fmt.Errorf("request %s has arrived %d times: %w", id, arrived, errors.Join(err, errLate))
		case !errors.Is(err, errGone) || arrived > 0:
			return again, err
		}
	}
	return again, fmt.Errorf("sent %d times: %w", again, errGone)
}

var (
	errGone = errors.New("the connection was closed before the response")
	errLate = errors.New("its first response is lost")
)

func (c *boltClient) request(ctx context.Context, id string) error {
	c.last++
	frame, err := wire.Append(nil, wire.Message{
		Dialect: wire.V1, Type: wire.Request, Command: wire.CommandRequest, ID: c.last, Codec: wire.Hessian2, Timeout: patience,
		Class: "com.alipay.sofa.rpc.core.request.SofaRequest", Content: []byte(id),
	})
	if err != nil {
		return err
	}
	if _, err := c.conn.Write(frame); err != nil {
		_ = c.conn.Close()
		<-c.conn.ended
		return fmt.Errorf("%w: %w", errGone, err)
	}
	select {
	case r := <-c.conn.frames:
		if r.id != c.last || r.status != wire.StatusSuccess || r.content != id {
			return fmt.Errorf("got response %d with %v and %.60q, want %d with success and %q", r.id, r.status, r.content, c.last, id)
		}
		return nil
	case <-c.conn.ended:
		select {
		case r := <-c.conn.frames: // it has arrived just before the end
			if r.id == c.last && r.status == wire.StatusSuccess && r.content == id {
				return nil
			}
		default:
		}
		return fmt.Errorf("%w: %w", errGone, c.conn.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// boltConn is a connection that is read all the time.
type boltConn struct {
	net.Conn
	frames chan boltResponse
	ended  chan struct{} // closed when err is set
	err    error
}

type boltResponse struct {
	id      uint32
	status  wire.Status
	content string
}

func (c *boltConn) read() {
	defer close(c.ended)
	c.err = readBolt(c, func(f wire.Frame) error {
		if f.Command() == wire.CommandHeartbeat {
			return nil
		}
		select {
		case c.frames <- boltResponse{f.ID(), f.Status(), string(f.Content())}:
			return nil
		default:
			return errors.New("a response without a request")
		}
	})
	_ = c.Close()
}

// readBolt calls handle for each frame until the connection ends.
func readBolt(conn net.Conn, handle func(wire.Frame) error) error {
	buf := make([]byte, 64<<10)
	for n := 0; ; {
		for n > 0 {
			f, need, err := wire.Next(buf[:n], wire.Limits{})
			if err != nil {
				return err
			}
			if need > 0 || f.FrameLen() > n {
				break
			}
			size := f.FrameLen()
			if err := handle(f); err != nil {
				return err
			}
			n = copy(buf, buf[size:n])
		}
		read, err := conn.Read(buf[n:])
		if n += read; err != nil {
			return err
		}
	}
}
