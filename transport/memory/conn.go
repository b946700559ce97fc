package memory

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// conn is one end of a connection: it reads from one pipe and writes to the other.
type conn struct {
	in, out       *pipe
	local, remote address
	readTimer     deadline
	writeTimer    deadline
	closed        chan struct{}
	once          sync.Once
}

func pair(addr address, size int) (near, far *conn) {
	up, down := newPipe(size), newPipe(size)
	dialer := addr + " (dialer)"
	near = &conn{in: down, out: up, local: dialer, remote: addr, closed: make(chan struct{})}
	far = &conn{in: up, out: down, local: addr, remote: dialer, closed: make(chan struct{})}
	near.readTimer.init()
	near.writeTimer.init()
	far.readTimer.init()
	far.writeTimer.init()
	return near, far
}

func (c *conn) Read(p []byte) (int, error) {
	for {
		expired, moved := c.readTimer.wait()
		switch {
		case isDone(c.closed):
			return 0, c.failed("read", net.ErrClosed)
		case isDone(expired):
			return 0, c.failed("read", os.ErrDeadlineExceeded)
		}
		n, err := c.in.take(p)
		if n > 0 || len(p) == 0 || err != nil {
			return n, err // io.EOF stays bare
		}
		select {
		case <-c.in.filled:
		case <-expired:
		case <-moved:
		case <-c.closed:
		}
	}
}

func (c *conn) Write(p []byte) (int, error) {
	written := 0
	for {
		expired, moved := c.writeTimer.wait()
		switch {
		case isDone(c.closed):
			return written, c.failed("write", net.ErrClosed)
		case isDone(expired):
			return written, c.failed("write", os.ErrDeadlineExceeded)
		}
		n, err := c.out.put(p[written:])
		written += n
		if err != nil {
			return written, c.failed("write", err)
		}
		if written == len(p) {
			return written, nil
		}
		select {
		case <-c.out.drained:
		case <-expired:
		case <-moved:
		case <-c.closed:
		}
	}
}

// CloseWrite ends the stream towards the peer, which reads what was written and then io.EOF. Reading goes on.
func (c *conn) CloseWrite() error {
	c.out.end()
	return nil
}

// Close ends both directions. The peer still reads what was written; its writes fail.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.out.end()
		c.in.abandon()
		c.readTimer.set(time.Time{})
		c.writeTimer.set(time.Time{})
	})
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	if isDone(c.closed) {
		return c.failed("set deadline", net.ErrClosed)
	}
	c.readTimer.set(t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	if isDone(c.closed) {
		return c.failed("set deadline", net.ErrClosed)
	}
	c.writeTimer.set(t)
	return nil
}

func (c *conn) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: "memory", Source: c.local, Addr: c.remote, Err: err}
}

// pipe is one direction: a ring of bytes with one reader and one writer.
type pipe struct {
	mu              sync.Mutex
	ring            []byte // allocated by the first put
	size            int
	start, n        int  // n bytes from start on, around the end
	ended           bool // no more will be put
	abandoned       bool // nobody will take
	filled, drained chan struct{}
}

func newPipe(size int) *pipe {
	return &pipe{size: size, filled: make(chan struct{}, 1), drained: make(chan struct{}, 1)}
}

// take moves bytes to p: none if there are none yet, io.EOF if there will be none.
func (b *pipe) take(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 {
		if b.ended {
			return 0, io.EOF
		}
		return 0, nil
	}
	total := 0
	for len(p) > 0 && b.n > 0 {
		k := copy(p, b.ring[b.start:min(b.start+b.n, len(b.ring))])
		p = p[k:]
		b.start = (b.start + k) % len(b.ring)
		b.n -= k
		total += k
	}
	signal(b.drained)
	return total, nil
}

// put moves as many bytes from p as there is room for.
func (b *pipe) put(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended:
		return 0, net.ErrClosed
	case b.abandoned:
		return 0, fmt.Errorf("the peer closed the connection: %w", syscall.EPIPE)
	case b.ring == nil:
		b.ring = make([]byte, b.size)
	}
	total := 0
	for len(p) > 0 && b.n < len(b.ring) {
		end := (b.start + b.n) % len(b.ring)
		k := copy(b.ring[end:min(end+len(b.ring)-b.n, len(b.ring))], p)
		p = p[k:]
		b.n += k
		total += k
	}
	signal(b.filled)
	return total, nil
}

func (b *pipe) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	signal(b.filled)
	signal(b.drained)
}

func (b *pipe) abandon() {
	b.mu.Lock()
	b.abandoned = true
	b.ring, b.n = nil, 0
	b.mu.Unlock()
	signal(b.drained)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
