package memory

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"example.com/ferry/transport/internal/deadline"
)

// conn is one end of a connection. It reads from one pipe and writes to another.
type conn struct {
	in, out       *pipe
	local, remote address
	readTimer     deadline.Deadline
	writeTimer    deadline.Deadline
	closed        chan struct{}
	once          sync.Once
}

func newPair(addr address, size int) (dialed, accepted *conn) {
	up, down := newPipe(size), newPipe(size)
	dialer := addr + " (dialer)"
	dialed = &conn{in: down, out: up, local: dialer, remote: addr, closed: make(chan struct{})}
	accepted = &conn{in: up, out: down, local: addr, remote: dialer, closed: make(chan struct{})}
	return dialed, accepted
}

func (c *conn) Read(p []byte) (int, error) {
	for {
		expired, moved := c.readTimer.Channels()
		switch {
		case isClosed(c.closed):
			return 0, c.opError("read", net.ErrClosed)
		case isClosed(expired):
			return 0, c.opError("read", os.ErrDeadlineExceeded)
		}
		n, err := c.in.read(p)
		if n > 0 || len(p) == 0 || err != nil {
			return n, err // io.EOF is returned without a wrapper
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
		expired, moved := c.writeTimer.Channels()
		switch {
		case isClosed(c.closed):
			return written, c.opError("write", net.ErrClosed)
		case isClosed(expired):
			return written, c.opError("write", os.ErrDeadlineExceeded)
		}
		n, err := c.out.write(p[written:])
		written += n
		if err != nil {
			return written, c.opError("write", err)
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

// CloseWrite ends the direction towards the peer. After the last byte, the peer's Read returns io.EOF. This end can still
// read.
func (c *conn) CloseWrite() error {
	c.out.closeWriter()
	return nil
}

// Close ends both directions. The peer can still read the bytes that were written before. Writes of the peer fail.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.out.closeWriter()
		c.in.closeReader()
		c.readTimer.Set(time.Time{})
		c.writeTimer.Set(time.Time{})
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
	if isClosed(c.closed) {
		return c.opError("set deadline", net.ErrClosed)
	}
	c.readTimer.Set(t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	if isClosed(c.closed) {
		return c.opError("set deadline", net.ErrClosed)
	}
	c.writeTimer.Set(t)
	return nil
}

func (c *conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "memory", Source: c.local, Addr: c.remote, Err: err}
}

// pipe is one direction of a connection: a ring of bytes with one reader and one writer.
type pipe struct {
	mu              sync.Mutex
	ring            []byte // allocated by the first write
	size            int
	start, used     int  // used bytes begin at start and wrap at the end of the ring
	writerClosed    bool // no more bytes follow those in the ring
	readerClosed    bool // written bytes are discarded
	filled, drained chan struct{}
}

func newPipe(size int) *pipe {
	return &pipe{size: size, filled: make(chan struct{}, 1), drained: make(chan struct{}, 1)}
}

// read removes bytes from the pipe and copies them to p. If the pipe is empty it returns 0 and nil, or io.EOF if the writer is
// closed.
func (b *pipe) read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == 0 {
		if b.writerClosed {
			return 0, io.EOF
		}
		return 0, nil
	}
	total := 0
	for len(p) > 0 && b.used > 0 {
		k := copy(p, b.ring[b.start:min(b.start+b.used, len(b.ring))])
		p = p[k:]
		b.start = (b.start + k) % len(b.ring)
		b.used -= k
		total += k
	}
	notify(b.drained)
	return total, nil
}

// write copies bytes from p to the pipe, as many as the pipe has room for.
func (b *pipe) write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.writerClosed:
		return 0, net.ErrClosed
	case b.readerClosed:
		return 0, fmt.Errorf("the peer closed the connection: %w", syscall.EPIPE)
	case b.ring == nil:
		b.ring = make([]byte, b.size)
	}
	total := 0
	for len(p) > 0 && b.used < len(b.ring) {
		end := (b.start + b.used) % len(b.ring)
		k := copy(b.ring[end:min(end+len(b.ring)-b.used, len(b.ring))], p)
		p = p[k:]
		b.used += k
		total += k
	}
	notify(b.filled)
	return total, nil
}

func (b *pipe) closeWriter() {
	b.mu.Lock()
	b.writerClosed = true
	b.mu.Unlock()
	notify(b.filled)
	notify(b.drained)
}

func (b *pipe) closeReader() {
	b.mu.Lock()
	b.readerClosed = true
	b.ring, b.used = nil, 0
	b.mu.Unlock()
	notify(b.drained)
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
