package keepalive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"example.com/ferry/bench/internal/rawpoll"
)

// Bodies is the client of a file server: each connection repeats one GET, or one PUT. The server is any server of HTTP/1.1.
const Bodies Wire = "bodies"

// bodyReads is the size of a read of a response, in bytes.
const bodyReads = 256 << 10

// bodyClient repeats requests with large bodies. A request may continue from one Run to the next: a body takes longer than a window.
type bodyClient struct {
	spec  Spec
	to    netip.AddrPort
	poll  *rawpoll.Poll
	conns []*bodyConn
	byFD  []*bodyConn
	buf   []byte
	body  []byte // body of each PUT
}

// bodyConn is a connection that carries one request at a time.
type bodyConn struct {
	fd      int
	request []byte // head of the request
	sent    int    // bytes of head and body sent
	room    bool   // the poll reports room in the socket
	began   time.Time
	head    []byte // incomplete head of the response
	inBody  bool   // the head of the response is complete
	left    int    // bytes of the response's body that are missing
}

func connectBodies(s Spec) (*bodyClient, error) {
	c := &bodyClient{spec: s, buf: make([]byte, bodyReads)}
	var err error
	if c.to, err = addrPort(s.Addr); err != nil {
		return nil, err
	}
	if s.Path == "" || s.Size < 1 {
		return nil, fmt.Errorf("keepalive: path %q and bodies of %d bytes: want a path and 1 byte at least", s.Path, s.Size)
	}
	if s.Put {
		c.body = FileBody(s.Size)
	}
	if c.poll, err = rawpoll.New(); err != nil {
		return nil, err
	}
	return c, c.Add(s.Conns)
}

// FileBody returns a body in which no piece repeats at a distance that is a power of two, so a piece in the wrong place changes its hash.
func FileBody(size int) []byte {
	b := make([]byte, size)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223 // Numerical Recipes, section 7.1
		b[i] = byte(x >> 24)
	}
	return b
}

func (c *bodyClient) Size() int { return len(c.conns) }

// Add opens n more connections.
func (c *bodyClient) Add(conns int) error {
	for range conns {
		fd, err := rawpoll.Dial(netip.Addr{}, c.to)
		if err != nil {
			return err
		}
		n := &bodyConn{fd: fd}
		n.request = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: files.example\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n", c.spec.Path)
		if c.spec.Put {
			n.request = fmt.Appendf(nil, "PUT %s%d HTTP/1.1\r\nHost: files.example\r\nUser-Agent: bench\r\nContent-Length: %d\r\n\r\n", c.spec.Path, len(c.conns), c.spec.Size)
		}
		c.conns = append(c.conns, n)
		for len(c.byFD) <= fd {
			c.byFD = append(c.byFD, nil)
		}
		c.byFD[fd] = n
		if err := c.poll.Add(fd); err != nil {
			return err
		}
	}
	return nil
}

// Run generates load l, a closed loop, until the end of the window. It does not wait for the responses that are missing then.
func (c *bodyClient) Run(l Load) (*Report, error) {
	if err := l.validate(); err != nil {
		return nil, err
	}
	if l.Rate > 0 || l.Once > 0 {
		return nil, errors.New("keepalive: large bodies have no rate and no end")
	}
	m := newMeasurement(l)
	for _, n := range c.conns {
		if n.began.IsZero() {
			if err := c.begin(n); err != nil {
				return nil, err
			}
		}
	}
	for {
		if err := m.mark(); err != nil {
			return nil, err
		}
		if len(m.marks) == 2 {
			return &m.report, nil
		}
		ready, err := c.poll.Wait(max(0, m.until(0)-m.now()))
		if err != nil {
			return nil, err
		}
		for _, fd := range ready {
			if err := c.handle(&m, c.byFD[fd]); err != nil {
				return nil, fmt.Errorf("keepalive: %s: %w", c.spec.Path, err)
			}
		}
	}
}

// begin sends the next request of a connection.
func (c *bodyClient) begin(n *bodyConn) error {
	n.began, n.sent, n.head, n.inBody = time.Now(), 0, n.head[:0], false
	return c.send(n)
}

// send sends what the socket has room for.
func (c *bodyClient) send(n *bodyConn) error {
	for n.sent < len(n.request)+len(c.body) {
		p := n.request[min(n.sent, len(n.request)):]
		if len(p) == 0 {
			p = c.body[n.sent-len(n.request):]
		}
		k, err := rawpoll.WriteSome(n.fd, p)
		if errors.Is(err, rawpoll.ErrAgain) {
			return c.awaitRoom(n, true)
		}
		if err != nil {
			return err
		}
		n.sent += k
	}
	return c.awaitRoom(n, false)
}

func (c *bodyClient) awaitRoom(n *bodyConn, on bool) error {
	if n.room == on {
		return nil
	}
	n.room = on
	return c.poll.AwaitRoom(n.fd, on)
}

// handle sends and receives what a connection is ready for.
func (c *bodyClient) handle(m *measurement, n *bodyConn) error {
	if n.room {
		if err := c.send(n); err != nil {
			return err
		}
	}
	k, err := rawpoll.Read(n.fd, c.buf)
	switch {
	case errors.Is(err, rawpoll.ErrAgain):
		return nil
	case errors.Is(err, io.EOF):
		return errClosed
	case err != nil:
		return err
	}
	return c.received(m, n, c.buf[:k])
}

// received handles received bytes of a response.
func (c *bodyClient) received(m *measurement, n *bodyConn, p []byte) error {
	if !n.inBody {
		before := len(n.head)
		n.head = append(n.head, p...)
		end := bytes.Index(n.head, []byte("\r\n\r\n"))
		if end < 0 {
			if len(n.head) > maxHead {
				return fmt.Errorf("a head of more than %d bytes", maxHead)
			}
			return nil
		}
		var err error
		if n.left, err = c.bodyLength(n.head[:end+2]); err != nil {
			return err
		}
		p = p[end+4-before:]
		n.inBody = true
	}
	if len(p) > n.left {
		return fmt.Errorf("%d bytes behind a response", len(p)-n.left)
	}
	n.left -= len(p)
	if len(m.marks) == 1 && !c.spec.Put {
		m.report.Bytes += int64(len(p))
	}
	if n.left > 0 {
		return nil
	}
	if n.sent < len(n.request)+len(c.body) {
		return errors.New("a response before the end of the request")
	}
	if len(m.marks) == 1 && c.spec.Put {
		m.report.Bytes += int64(c.spec.Size)
	}
	m.count(n.began.Sub(m.start))
	return c.begin(n)
}

// bodyLength checks the head of a response and returns the length of its body.
func (c *bodyClient) bodyLength(head []byte) (int, error) {
	if c.spec.Put {
		if bytes.HasPrefix(head, []byte("HTTP/1.1 204 ")) {
			return 0, nil
		}
		if !bytes.HasPrefix(head, []byte("HTTP/1.1 201 ")) {
			return 0, fmt.Errorf("response %q: want status 201 or 204", clip(head))
		}
		return contentLength(head)
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
		return 0, fmt.Errorf("response %q: want status 200", clip(head))
	}
	length, err := contentLength(head)
	if err == nil && length != c.spec.Size {
		err = fmt.Errorf("a body of %d bytes: want %d", length, c.spec.Size)
	}
	return length, err
}
