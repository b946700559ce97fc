package keepalive

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/rawpoll"
)

// serverStreams is how many streams the backend accepts on a connection.
const serverStreams = 128

// http2Backend responds to HTTP/2 requests.
type http2Backend struct {
	poll  *rawpoll.Poll
	tls   *tls.Config // nil: cleartext
	conns []*serverConn
	buf   []byte
	body  []byte

	secured chan secured // connections whose TLS handshake is over
	wake    int          // eventfd(2): secured holds something
}

// secured is the end of a TLS handshake.
type secured struct {
	conn *serverConn
	err  error
}

// serverConn is a connection of the backend.
type serverConn struct {
	*http2Conn
	response  headerBlock
	responded bool // the first response was sent
}

// serveHTTP2 responds to requests at an address until this process is ended.
func serveHTTP2(at netip.AddrPort, size int, config *tls.Config) error {
	listener, err := rawpoll.Listen(at)
	if err != nil {
		return err
	}
	poll, err := rawpoll.New()
	if err != nil {
		return err
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("keepalive: eventfd: %w", err)
	}
	b := &http2Backend{poll: poll, tls: config, buf: make([]byte, 256<<10), body: newBody(size), secured: make(chan secured, 1<<12), wake: wake}
	if err := errors.Join(poll.Add(listener), poll.Add(wake)); err != nil {
		return err
	}
	for {
		ready, err := poll.Wait(-1)
		if err != nil {
			return err
		}
		for _, fd := range ready {
			var err error
			switch fd {
			case listener:
				err = b.accept(listener)
			case wake:
				err = b.admitSecured()
			default:
				b.turn(b.conns[fd])
			}
			if err != nil {
				return err
			}
		}
	}
}

func (b *http2Backend) turn(c *serverConn) {
	if err := c.turn(b.buf); err != nil {
		b.end(c, err)
	}
}

// end closes a connection, and the client then counts a failure.
func (b *http2Backend) end(c *serverConn, why error) {
	if !errors.Is(why, io.EOF) && !errors.Is(why, errClosed) {
		fmt.Fprintln(os.Stderr, "keepalive: HTTP/2 backend:", why)
	}
	rawpoll.Close(c.fd)
	if c.fd < len(b.conns) {
		b.conns[c.fd] = nil
	}
}

func (b *http2Backend) accept(listener int) error {
	for {
		fd, err := rawpoll.Accept(listener)
		if errors.Is(err, rawpoll.ErrAgain) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("keepalive: accept: %w", err)
		}
		c := new(serverConn)
		c.http2Conn = newHTTP2Conn(socket{fd: fd, poll: b.poll}, c)
		c.body, c.other, c.preface = b.body, b.body, len(preface)
		if b.tls == nil {
			if err := b.admit(c); err != nil {
				return err
			}
			continue
		}
		// A proxy may open hundreds of connections at once.
		go func() {
			b.secured <- secured{c, c.secure(b.tls, true)}
			var one [8]byte
			binary.NativeEndian.PutUint64(one[:], 1)
			_, _ = unix.Write(b.wake, one[:]) // it fails if it was woken 2^64 times
		}()
	}
}

// admitSecured admits the connections whose TLS handshake is over.
func (b *http2Backend) admitSecured() error {
	var count [8]byte
	if _, err := unix.Read(b.wake, count[:]); err != nil {
		return fmt.Errorf("keepalive: eventfd: %w", err)
	}
	for {
		select {
		case s := <-b.secured:
			if s.err != nil {
				b.end(s.conn, s.err)
			} else if err := b.admit(s.conn); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// admit begins to serve a connection.
func (b *http2Backend) admit(c *serverConn) error {
	for len(b.conns) <= c.fd {
		b.conns = append(b.conns, nil)
	}
	b.conns[c.fd] = c
	if err := b.poll.Add(c.fd); err != nil {
		return err
	}
	c.start([2]uint32{settingStreams, serverStreams}, [2]uint32{settingWindow, streamWindow})
	b.turn(c)
	return nil
}

// wantRequest is what a request's header has to be.
var wantRequest = map[string]string{":method": "POST", ":path": "/orders/1234"}

func (c *serverConn) headers(id uint32, block []byte, end bool) error {
	if c.streams[id] != nil {
		return fmt.Errorf("trailers on stream %d", id)
	}
	if err := c.header.read(block, wantRequest); err != nil {
		return err
	}
	if end {
		return errors.New("a request without a body")
	}
	c.streams[id] = &stream{id: id, window: c.initial}
	return nil
}

func (c *serverConn) data(id uint32, p []byte, end bool) error {
	s := c.streams[id]
	if s == nil {
		return nil // the client has reset it
	}
	if s.got < markLen {
		copy(s.mark[s.got:], p)
	}
	if err := c.receiveBody(s, p, nil, end); err != nil {
		return err
	}
	if !end {
		return nil
	}
	if !c.responded {
		c.response = newHeaderBlock(c.tableSize, responseFields(len(c.body)))
	}
	block := c.response.later
	if !c.responded {
		block, c.responded = c.response.first, true
	}
	c.out = append(appendFrame(c.out, len(block), frameHeaders, flagEndHeaders, id), block...)
	c.sending = append(c.sending, s)
	c.send()
	return nil
}

func (c *serverConn) reset(id, _ uint32) error {
	if s := c.streams[id]; s != nil {
		c.drop(s)
	}
	return nil
}

func (c *serverConn) bodySent(s *stream) { delete(c.streams, s.id) }
