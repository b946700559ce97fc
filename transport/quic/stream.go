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

// stream is a net.Conn over a QUIC stream. Close ends both directions. Errors are those of package net.
type stream struct {
	qs        *quic.Stream
	conn      *Conn
	closed    atomic.Bool
	readEnded sync.Once // runs sendReceipt once, when the stream has ended or this end stops reading
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.qs.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		s.readEnded.Do(s.conn.sendReceipt)
	}
	if n > 0 {
		return n, nil // the next Read returns the error
	}
	return 0, s.opError("read", err)
}

func (s *stream) Write(p []byte) (int, error) {
	n, err := s.qs.Write(p)
	return n, s.opError("write", err)
}

// CloseWrite ends the direction towards the peer. After the last byte, the peer's Read returns io.EOF. This end can still
// read.
func (s *stream) CloseWrite() error { return s.qs.Close() }

// Close ends both directions. The peer still receives bytes that were written before.
func (s *stream) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	// QUIC ends the stream after the last byte of a Write. So Close must first interrupt a Write in progress.
	_ = s.SetWriteDeadline(time.Unix(1, 0))
	_, _ = s.qs.Write(nil)
	_ = s.qs.Close() // an error means that the peer has already stopped reading
	s.qs.CancelRead(codeClosed)
	s.readEnded.Do(s.conn.sendReceipt)
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

// opError returns err as a *net.OpError, which users of a net.Conn expect. It returns io.EOF unchanged.
func (s *stream) opError(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.closed.Load(): // this end's Close has precedence over an end by the peer
		err = net.ErrClosed
	case errors.Is(err, io.EOF):
		return err
	default:
		err = netError(err)
	}
	return &net.OpError{Op: op, Net: "quic", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
}

// netError returns net.ErrClosed if this end closed the stream, and EPIPE if the peer did. It returns other errors unchanged.
func netError(err error) error {
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
