package keepalive

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/bench/internal/rawpoll"
)

// socket is a connection that does not block, with TLS or without. Output is queued until flush.
type socket struct {
	fd      int
	tls     *tls.Conn // nil: cleartext
	secured bool      // the TLS handshake is complete
	poll    *rawpoll.Poll
	out     []byte // queued output, before encryption
	sealed  []byte // output after encryption; it is out itself without TLS
	full    bool   // output waits for room in the socket; poll reports it
}

// handshakeTime is the timeout for a TLS handshake. The handshake blocks the thread.
const handshakeTime = 20 * time.Second

// secure makes the TLS handshake on the connection, as the server or as the client. A nil config leaves it in cleartext.
func (s *socket) secure(config *tls.Config, server bool) error {
	if config == nil {
		return nil
	}
	if server {
		s.tls = tls.Server(rawConn{s}, config)
	} else {
		s.tls = tls.Client(rawConn{s}, config)
	}
	timeout := unix.NsecToTimeval(handshakeTime.Nanoseconds())
	if err := errors.Join(unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout), unix.SetNonblock(s.fd, false)); err != nil {
		return fmt.Errorf("keepalive: %w", err)
	}
	if err := s.tls.Handshake(); err != nil {
		return fmt.Errorf("keepalive: TLS handshake: %w", err)
	}
	s.secured = true
	return unix.SetNonblock(s.fd, true)
}

// read reads what has arrived. It returns rawpoll.ErrAgain if nothing has. With TLS, call it until it returns ErrAgain: bytes
// that are decrypted already do not make the descriptor readable.
func (s *socket) read(p []byte) (int, error) {
	if s.tls == nil {
		return rawpoll.Read(s.fd, p)
	}
	n, err := s.tls.Read(p)
	var later again
	if errors.As(err, &later) {
		return n, rawpoll.ErrAgain
	}
	return n, err
}

// flush encrypts the queued output, and writes what the socket has room for. The poll reports when there is room for the rest.
func (s *socket) flush() error {
	if s.tls != nil && len(s.out) > 0 {
		if _, err := s.tls.Write(s.out); err != nil { // it appends to sealed
			return err
		}
		s.out = s.out[:0]
	}
	queue := &s.out
	if s.tls != nil {
		queue = &s.sealed
	}
	if len(*queue) > 0 {
		n, err := rawpoll.WriteSome(s.fd, *queue)
		if err != nil && !errors.Is(err, rawpoll.ErrAgain) {
			return err
		}
		rest := copy(*queue, (*queue)[n:])
		*queue = (*queue)[:rest]
	}
	if full := len(*queue) > 0; full != s.full {
		s.full = full
		return s.poll.AwaitRoom(s.fd, full)
	}
	return nil
}

// queued is the number of bytes that wait for room in the socket.
func (s *socket) queued() int { return len(s.out) + len(s.sealed) }

// rawConn is the connection under TLS. It blocks during the handshake only.
type rawConn struct{ s *socket }

// again is the error of a read that would block. TLS goes on after a temporary error.
type again struct{ error }

func (again) Timeout() bool   { return true }
func (again) Temporary() bool { return true }

func (c rawConn) Read(p []byte) (int, error) {
	if !c.s.secured {
		n, err := unix.Read(c.s.fd, p)
		for errors.Is(err, unix.EINTR) { // a read with a timeout is not restarted after a signal
			n, err = unix.Read(c.s.fd, p)
		}
		if err == nil && n == 0 {
			return 0, errClosed
		}
		return max(n, 0), err
	}
	n, err := rawpoll.Read(c.s.fd, p)
	if errors.Is(err, rawpoll.ErrAgain) {
		err = again{err}
	}
	return n, err
}

func (c rawConn) Write(p []byte) (int, error) {
	if !c.s.secured {
		return unix.Write(c.s.fd, p)
	}
	c.s.sealed = append(c.s.sealed, p...)
	return len(p), nil
}

func (c rawConn) Close() error                     { return nil }
func (c rawConn) LocalAddr() net.Addr              { return nil }
func (c rawConn) RemoteAddr() net.Addr             { return nil }
func (c rawConn) SetDeadline(time.Time) error      { return nil }
func (c rawConn) SetReadDeadline(time.Time) error  { return nil }
func (c rawConn) SetWriteDeadline(time.Time) error { return nil }
