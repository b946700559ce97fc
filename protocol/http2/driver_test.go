package http2

import (
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/ferry/internal/bufpool"
)

// socketOutput gathers the bytes of one turn. The driver writes them to the socket.
type socketOutput struct{ queue []byte }

const socketHighWater = 64 << 10

func (o *socketOutput) Write(p []byte)                       { o.queue = append(o.queue, p...) }
func (o *socketOutput) WriteShared(_ *bufpool.Buf, p []byte) { o.queue = append(o.queue, p...) }
func (o *socketOutput) Full() bool                           { return len(o.queue) >= socketHighWater }
func (*socketOutput) Hold(int)                               {}
func (*socketOutput) Crowded() bool                          { return false }

// drive reads the socket until it ends, or until done returns an error. Between reads it writes what the connection has queued.
func drive(nc net.Conn, c *Conn, out *socketOutput, done func() error) error {
	buf := make([]byte, 0, 64<<10)
	var failure error
	for {
		for {
			p := out.queue
			out.queue = nil
			if len(p) > 0 {
				if _, err := nc.Write(p); err != nil {
					return err
				}
			}
			if failure != nil {
				return failure
			}
			if err := done(); err != nil {
				return err
			}
			c.Flush()
			if len(out.queue) == 0 {
				break
			}
		}
		n, err := nc.Read(buf[len(buf):cap(buf)])
		if err != nil {
			return err
		}
		buf = buf[:len(buf)+n]
		used, err := c.Receive(buf)
		buf = buf[:copy(buf, buf[used:])]
		failure = err
	}
}

// echoServer responds with the request's body, and without a body with "hello".
type echoServer struct{ conn *Conn }

var hello = []byte("hello")

// echo is the state of one request.
type echo struct{ owed int }

func (e *echoServer) Headers(s *Stream, h *Head, end bool) {
	if h.Trailers {
		enc := s.BeginHeaders()
		h.All(func(name, value []byte) bool { enc.Field(name, value); return true })
		enc.End(true)
		s.Release()
		return
	}
	enc := s.BeginHeaders()
	enc.Status(200)
	enc.FieldString("server", "echo")
	if n := h.Get("x-size"); n != nil {
		size, _ := strconv.Atoi(string(n))
		enc.FieldString("content-length", string(n))
		enc.End(false)
		s.Write(make([]byte, size), true)
		s.Release()
		return
	}
	if end {
		enc.FieldString("content-length", "5")
		enc.End(false)
		s.Write(hello, true)
		s.Release()
		return
	}
	enc.End(false)
	s.User = &echo{}
}

func (e *echoServer) Data(s *Stream, p []byte, end bool) {
	s.Write(p, end)
	state := s.User.(*echo)
	state.owed += len(p)
	if end {
		s.Release()
	} else if !s.Full() {
		s.Consumed(state.owed)
		state.owed = 0
	}
}

func (e *echoServer) Reset(s *Stream, _ StreamError) { s.Release() }

func (e *echoServer) Writable(s *Stream) {
	state := s.User.(*echo)
	s.Consumed(state.owed)
	state.owed = 0
}

func (e *echoServer) Sent(*Stream) {}

func (e *echoServer) GoAway(uint32, Code) {}

// waitListening waits until a server accepts connections.
func waitListening(t testing.TB, addr string) {
	t.Helper()
	for range 500 {
		nc, err := net.Dial("tcp", addr)
		if err == nil {
			_ = nc.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not accept connections within 5 s", addr)
}

// serveEcho starts a server and returns its address.
func serveEcho(t testing.TB, cfg *Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	var mu sync.Mutex
	open := make(map[net.Conn]bool)
	conns.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[nc] = true
			mu.Unlock()
			conns.Go(func() {
				out := &socketOutput{}
				h := &echoServer{}
				h.conn = NewServer(cfg, h, out)
				err := drive(nc, h.conn, out, func() error { return nil })
				h.conn.Closed(err)
				var failure *ConnError
				if errors.As(err, &failure) {
					if failure.Abuse != NoAbuse {
						t.Errorf("a well-behaved client is taken for an attacker: %v", err)
					}
					// Read the remaining bytes, so the system does not reset the connection before the peer has read GOAWAY.
					_ = nc.(*net.TCPConn).CloseWrite()
					_, _ = io.Copy(io.Discard, io.LimitReader(nc, 1<<20))
				}
				_ = nc.Close()
				mu.Lock()
				delete(open, nc)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for nc := range open {
			_ = nc.Close()
		}
		mu.Unlock()
		conns.Wait()
	})
	return l.Addr().String()
}
