package keepalive

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"example.com/ferry/bench/internal/rawpoll"
)

// client is a load generator with open connections.
type client struct {
	wire     wire
	from     netip.Addr
	to       netip.AddrPort
	tls      *tls.Config // nil: cleartext
	poll     *rawpoll.Poll
	conns    []*conn
	byFD     []*conn
	buf      []byte // read buffer
	requests uint64 // number of requests sent so far
	failures int
	failure  error // first failure
}

// conn is a connection that carries one request at a time.
type conn struct {
	socket
	id      uint64 // id of the request in flight
	busy    bool
	due     time.Duration   // time when the request in flight was due
	waiting []time.Duration // due times of the requests that wait for this connection
	in      []byte          // incomplete response
}

// connect opens all connections.
func connect(s Spec) (*client, error) {
	w, err := newWire(s.Wire, s.Size, s.Routes)
	if err != nil {
		return nil, err
	}
	c := &client{wire: w, buf: make([]byte, 64<<10)}
	if c.to, err = addrPort(s.Addr); err != nil {
		return nil, err
	}
	if s.From != "" {
		if c.from, err = netip.ParseAddr(s.From); err != nil {
			return nil, fmt.Errorf("keepalive: %w", err)
		}
	}
	if s.CA != "" {
		if c.tls, err = clientTLS(s.CA, "http/1.1"); err != nil {
			return nil, err
		}
	}
	if c.poll, err = rawpoll.New(); err != nil {
		return nil, err
	}
	return c, c.Add(s.Conns)
}

func (c *client) Size() int { return len(c.conns) }

// Add opens n more connections.
func (c *client) Add(conns int) error {
	for range conns {
		n := new(conn)
		if err := c.dial(n); err != nil {
			return err
		}
		c.conns = append(c.conns, n)
	}
	return nil
}

// dial connects n to the server.
func (c *client) dial(n *conn) error {
	fd, err := rawpoll.Dial(c.from, c.to)
	if err != nil {
		return err
	}
	n.socket = socket{fd: fd, poll: c.poll}
	for len(c.byFD) <= n.fd {
		c.byFD = append(c.byFD, nil)
	}
	c.byFD[n.fd] = n
	return errors.Join(c.poll.Add(n.fd), n.secure(c.tls, false))
}
