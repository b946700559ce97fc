package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/bufpool"
)

// orphanGrace is how long a handler may continue after the parent has gone.
const orphanGrace = time.Second

// Serve handles the parent's messages, one at a time. It returns nil when the parent closes the Pool or dies, and the
// error of ctx when ctx ends. A program started by Start calls Serve once. In any other program Serve returns an error
// immediately.
//
// The handler's context ends when its message is cancelled. If the handler then continues, the parent kills the
// process. A panic of the handler is an error of its message only. Responses are written within 200 µs, or when the
// handler returns. The program's output is copied to the parent's Config.Stderr. If the parent has gone and a handler
// does not return within a second, Serve exits the process with status 1.
func Serve(ctx context.Context, h ferry.Handler) error {
	conn, err := parentSocket()
	if err != nil {
		return err
	}
	s := newServer(conn)
	s.orphaned = func() {
		fmt.Fprintln(os.Stderr, "worker: the parent is gone and the handler did not return: exit")
		os.Exit(1)
	}
	return s.serve(ctx, h)
}

// parentSocket returns the socket to the parent. Only the first call succeeds.
func parentSocket() (net.Conn, error) {
	text, ok := os.LookupEnv(socketVariable)
	if !ok {
		return nil, fmt.Errorf("worker: %s is not set: Serve is for programs that worker.Start runs", socketVariable)
	}
	fd, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("worker: %s is %q: want a file descriptor", socketVariable, text)
	}
	if err := os.Unsetenv(socketVariable); err != nil {
		return nil, err
	}
	conn, err := inherited(fd)
	if err != nil {
		return nil, fmt.Errorf("worker: %s names descriptor %d: %w", socketVariable, fd, err)
	}
	return conn, nil
}

// server is the worker's side of the protocol.
type server struct {
	conn     net.Conn
	frames   frameReader
	max      int // largest payload in bytes
	requests chan ferry.Message
	out      frameWriter
	orphaned func()

	mu        sync.Mutex
	number    uint64             // number of the request being handled
	cancelled uint64             // requests up to this number are cancelled
	stop      context.CancelFunc // cancels the request being handled; nil if there is none
}

func newServer(conn net.Conn) *server {
	s := &server{conn: conn, requests: make(chan ferry.Message, aheadRequests)}
	s.frames = frameReader{r: conn, max: maxHello}
	s.out.w = conn
	return s
}

func (s *server) serve(ctx context.Context, h ferry.Handler) error {
	defer s.conn.Close()
	if err := s.handshake(); err != nil {
		return fmt.Errorf("worker: greet the parent: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	served, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		err := s.read()
		cancel(err)
		if !errors.Is(err, io.EOF) {
			_ = s.conn.Close() // makes a pending write of a response fail
		}
		select {
		case <-served:
		case <-time.After(orphanGrace):
			s.orphaned()
		}
	}()
	s.handleAll(ctx, h)
	close(served)
	_ = s.conn.Close()
	<-read
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, io.EOF), isReset(cause):
		return nil
	default:
		return cause
	}
}

func (s *server) handshake() error {
	k, body, err := s.frames.next()
	if err != nil {
		return err
	}
	if k != hello {
		return &ProtocolError{Reason: fmt.Sprintf("the first frame is of kind %d, want a hello (%d)", k, hello)}
	}
	s.max, err = parseHello(body)
	if _, werr := s.conn.Write(helloFrame(s.max)); err == nil {
		err = werr // the parent reads this side's version from the HELLO
	}
	s.out.max = s.max
	s.frames.max = maxFrame(s.max)
	return err
}

// read reads the parent's frames until the stream ends.
func (s *server) read() error {
	tag := ""
	for {
		k, body, err := s.frames.next()
		if err != nil {
			return err
		}
		switch k {
		case message:
			buf := bufpool.Get(len(body))
			buf.B = append(buf.B, body...)
			m, err := parseMessage(buf.B, tag)
			if err != nil {
				return err
			}
			if len(m.Payload) > s.max {
				return &ProtocolError{Reason: fmt.Sprintf("a request of %d bytes exceeds MaxMessage %d", len(m.Payload), s.max)}
			}
			tag = m.Tag
			select {
			case s.requests <- m.Borrowed(buf):
			default:
				return &ProtocolError{Reason: fmt.Sprintf("more than %d requests sent ahead", aheadRequests)}
			}
		case cancel:
			number, err := parseCancel(body)
			if err != nil {
				return err
			}
			s.cancelUpTo(number)
		default:
			return &ProtocolError{Reason: fmt.Sprintf("a frame of kind %d, want a message (%d) or a cancel (%d)", k, message, cancel)}
		}
	}
}

// cancelUpTo cancels the requests up to number.
func (s *server) cancelUpTo(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelled = max(s.cancelled, number)
	if s.stop != nil && s.number <= number {
		s.stop()
	}
}

func (s *server) handleAll(ctx context.Context, h ferry.Handler) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-s.requests:
			st, text := s.handle(ctx, h, &m)
			m.Release()
			s.out.end(s.number, st, text)
		}
	}
}

// handle calls the handler, unless the request is already cancelled.
func (s *server) handle(ctx context.Context, h ferry.Handler, m *ferry.Message) (st status, text string) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.mu.Lock()
	s.number++
	s.stop = stop
	unwanted := s.number <= s.cancelled
	s.mu.Unlock()
	if unwanted {
		return failed, context.Canceled.Error()
	}
	out := &sender{frameWriter: &s.out}
	defer func() {
		if v := recover(); v != nil {
			st, text = panicked, fmt.Sprintf("%v\n%s", v, debug.Stack())
		}
		out.close()
		s.mu.Lock()
		s.stop = nil
		s.mu.Unlock()
	}()
	if err := h.Handle(ctx, m, out); err != nil {
		return failed, err.Error()
	}
	return done, ""
}
