package quic

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
)

// stream makes a net.Conn of a QUIC stream: Close ends both directions, errors are those of package net.
type stream struct {
	qs     *quic.Stream
	conn   *Conn
	closed atomic.Bool
	read   sync.Once // to its end, or given up
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.qs.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		s.read.Do(s.conn.acknowledge)
	}
	if n > 0 {
		return n, nil // the error comes again
	}
	return 0, s.failed("read", err)
}

func (s *stream) Write(p []byte) (int, error) {
	n, err := s.qs.Write(p)
	return n, s.failed("write", err)
}

// CloseWrite ends the stream towards the peer, which reads what was written and then io.EOF. Reading goes on.
func (s *stream) CloseWrite() error { return s.qs.Close() }

// Close ends both directions. What was written still arrives.
func (s *stream) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	// A Write that is under way ends first, as what QUIC is told to end it ends behind that.
	_ = s.SetWriteDeadline(time.Unix(1, 0))
	_, _ = s.qs.Write(nil)
	_ = s.qs.Close() // the error says that the peer has given up reading
	s.qs.CancelRead(codeClosed)
	s.read.Do(s.conn.acknowledge)
	s.conn.mu.Lock()
	delete(s.conn.open, s)
	s.conn.mu.Unlock()
	return nil
}

func (s *stream) SetDeadline(t time.Time) error      { return s.qs.SetDeadline(t) }
func (s *stream) SetReadDeadline(t time.Time) error  { return s.qs.SetReadDeadline(t) }
func (s *stream) SetWriteDeadline(t time.Time) error { return s.qs.SetWriteDeadline(t) }

func (s *stream) LocalAddr() net.Addr  { return s.conn.qc.LocalAddr() }
func (s *stream) RemoteAddr() net.Addr { return s.conn.qc.RemoteAddr() }

// failed gives err the shape that users of a net.Conn test for. io.EOF stays bare.
func (s *stream) failed(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.closed.Load(): // even if the peer ended the stream at the same time
		err = net.ErrClosed
	case errors.Is(err, io.EOF):
		return err
	default:
		err = plain(err)
	}
	return &net.OpError{Op: op, Net: "quic", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
}

// plain translates what this end did itself, and what a peer's Close does to those who still write to it.
func plain(err error) error {
	var stream *quic.StreamError
	var app *quic.ApplicationError
	switch {
	case errors.Is(err, quic.ErrStreamClosed), errors.As(err, &app) && !app.Remote:
		return net.ErrClosed
	case errors.As(err, &stream) && stream.Remote && stream.ErrorCode == codeClosed,
		errors.As(err, &app) && app.ErrorCode == codeClosed:
		return fmt.Errorf("the peer closed it: %w", syscall.EPIPE)
	default:
		return err
	}
}
