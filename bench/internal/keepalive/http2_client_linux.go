package keepalive

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"example.com/ferry/bench/internal/rawpoll"
)

// http2Client is a load generator with open HTTP/2 connections, each with many requests in flight.
type http2Client struct {
	spec     Spec
	to       netip.AddrPort
	tls      *tls.Config // nil: cleartext
	poll     *rawpoll.Poll
	conns    []*clientConn
	byFD     []*clientConn
	buf      []byte
	body     []byte
	requests uint64 // number of requests sent so far
	failures int
	failure  error // first failure
}

// clientConn is a connection of the client.
type clientConn struct {
	*http2Conn
	run     *http2Run
	request headerBlock
	asked   bool            // the first request was sent
	waiting []time.Duration // due times of requests that wait for a stream
	lastID  uint32
}

func connectHTTP2(s Spec) (*http2Client, error) {
	if s.Streams < 1 || s.Size < markLen {
		return nil, fmt.Errorf("keepalive: %d streams with bodies of %d bytes: want 1 stream and %d bytes at least", s.Streams, s.Size, markLen)
	}
	to, err := addrPort(s.Addr)
	if err != nil {
		return nil, err
	}
	c := &http2Client{spec: s, to: to, buf: make([]byte, 256<<10), body: newBody(s.Size)}
	if s.CA != "" {
		if c.tls, err = clientTLS(s.CA, "h2"); err != nil {
			return nil, err
		}
	}
	if c.poll, err = rawpoll.New(); err != nil {
		return nil, err
	}
	return c, c.Add(s.Conns)
}

func (c *http2Client) Size() int { return len(c.conns) }

func (c *http2Client) Add(conns int) error {
	for range conns {
		n := new(clientConn)
		if err := c.dial(n); err != nil {
			return err
		}
		c.conns = append(c.conns, n)
	}
	return nil
}

// dial connects n, and waits for the server's SETTINGS: requests depend on them.
func (c *http2Client) dial(n *clientConn) error {
	fd, err := rawpoll.Dial(netip.Addr{}, c.to)
	if err != nil {
		return err
	}
	n.http2Conn = newHTTP2Conn(socket{fd: fd, poll: c.poll}, n)
	n.body, n.other, n.asked, n.lastID = c.body, c.body, false, 0
	for len(c.byFD) <= fd {
		c.byFD = append(c.byFD, nil)
	}
	c.byFD[fd] = n
	if err := errors.Join(c.poll.Add(fd), n.secure(c.tls, false)); err != nil {
		return err
	}
	n.out = append(n.out, preface...)
	n.start([2]uint32{settingEnablePush, 0}, [2]uint32{settingWindow, streamWindow})
	for deadline := time.Now().Add(handshakeTime); !n.settled; {
		if err := n.turn(c.buf); err != nil {
			return fmt.Errorf("keepalive: HTTP/2 to %s: %w", c.to, err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("keepalive: HTTP/2 to %s: no SETTINGS within %v", c.to, handshakeTime)
		}
		if !n.settled {
			time.Sleep(time.Millisecond)
		}
	}
	scheme := "http"
	if c.tls != nil {
		scheme = "https"
	}
	n.request = newHeaderBlock(n.tableSize, requestFields(scheme, c.spec.Size))
	return nil
}

// http2Run is the state of one Load.
type http2Run struct {
	*http2Client
	measurement
	next     int // number of the next request, for a Load with Rate
	inFlight int
}

// Run generates load l, and waits for the last response.
func (c *http2Client) Run(l Load) (*Report, error) {
	if err := l.validate(); err != nil {
		return nil, err
	}
	if l.Once > 0 {
		return nil, errors.New("keepalive: HTTP/2 has no load of one request on each connection")
	}
	r := &http2Run{http2Client: c, measurement: newMeasurement(l)}
	c.failures, c.failure = 0, nil
	for _, n := range c.conns {
		n.run = r
		for l.Rate == 0 && n.free() {
			r.ask(n, r.now())
		}
		if err := n.finish(); err != nil {
			return nil, err
		}
	}
	for {
		if err := errors.Join(r.mark(), r.askDue()); err != nil {
			return nil, err
		}
		if r.over() {
			break
		}
		if err := r.receive(); err != nil {
			return nil, err
		}
	}
	for _, n := range c.conns {
		c.failures += len(n.waiting)
		n.waiting = nil
		if len(n.streams) > 0 {
			if err := r.fail(n, fmt.Errorf("no response to %d requests %v after the window", len(n.streams), r.Patience)); err != nil {
				return nil, err
			}
		}
	}
	r.report.Failures = c.failures
	if c.failure != nil {
		r.report.Failure = c.failure.Error()
	}
	return &r.report, nil
}

// over reports whether every request has a response, or the wait for responses is over.
func (r *http2Run) over() bool {
	return len(r.marks) == 2 && (r.inFlight == 0 || r.now() > r.end()+r.Patience)
}

// free reports whether the connection may carry one more request.
func (n *clientConn) free() bool { return len(n.streams) < min(n.run.spec.Streams, n.most) }

// ask queues a request that is due at a time.
func (r *http2Run) ask(n *clientConn, due time.Duration) {
	if r.Rate > 0 && r.inWindow(due) {
		r.report.Late.Add(r.now() - due)
	}
	r.requests++
	r.inFlight++
	s := &stream{id: n.nextID(), number: r.requests, due: due, window: n.initial}
	mark(s.mark[:], s.number)
	n.streams[s.id] = s
	block := n.request.later
	if !n.asked {
		block, n.asked = n.request.first, true
	}
	n.out = append(appendFrame(n.out, len(block), frameHeaders, flagEndHeaders, s.id), block...)
	n.sending = append(n.sending, s)
	n.send()
}

// askDue queues all requests that are due now, over all connections in turn.
func (r *http2Run) askDue() error {
	for ; r.Rate > 0; r.next++ {
		due := r.dueAt(r.next)
		if due > r.now() || due >= r.end() {
			return nil
		}
		n := r.conns[r.next%len(r.conns)]
		if !n.free() {
			n.waiting = append(n.waiting, due)
			continue
		}
		r.ask(n, due)
		if err := n.finish(); err != nil {
			return err
		}
	}
	return nil
}

// receive reads responses until the next request is due.
func (r *http2Run) receive() error {
	ready, err := r.poll.Wait(max(0, r.until(r.next)-r.now()))
	if err != nil {
		return err
	}
	for _, fd := range ready {
		n := r.byFD[fd]
		if err := n.turn(r.buf); err != nil {
			if errors.Is(err, io.EOF) {
				err = errClosed
			}
			if err := r.fail(n, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// fail counts a failure for each request in flight on a connection, and opens the connection again.
func (r *http2Run) fail(n *clientConn, why error) error {
	lost := max(1, len(n.streams))
	r.inFlight -= len(n.streams)
	if r.failures += lost; r.failure == nil {
		r.failure = why
	}
	if r.failures > 100+len(r.conns)*r.spec.Streams {
		return fmt.Errorf("keepalive: %d failures: %w", r.failures, r.failure)
	}
	rawpoll.Close(n.fd)
	if err := r.dial(n); err != nil {
		return fmt.Errorf("%w; before that: %w", err, r.failure)
	}
	for range lost {
		r.another(n)
	}
	return n.finish()
}

// another queues the next request of a connection.
func (r *http2Run) another(n *clientConn) {
	switch {
	case !n.free():
	case len(n.waiting) > 0:
		due := n.waiting[0]
		n.waiting = n.waiting[1:]
		r.ask(n, due)
	case r.Rate == 0 && r.now() < r.end():
		r.ask(n, r.now())
	}
}

// nextID returns the id of a new stream. Ids of a client are odd and grow. RFC 9113, section 5.1.1.
func (n *clientConn) nextID() uint32 {
	id := n.lastID + 2
	if n.lastID == 0 {
		id = 1
	}
	n.lastID = id
	return id
}
