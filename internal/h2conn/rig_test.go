package h2conn

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/ferry/protocol/http2"
)

// patience bounds each wait of a test. A correct connection needs milliseconds.
const patience = 30 * time.Second

// echo is the Handler of a test's server. A goroutine handles each request, as in a server of gRPC: it sends the body back, or
// as many bytes as the field x-size says, and then trailers with the number of bytes.
type echo struct {
	conn  *Conn
	calls sync.WaitGroup
}

// call is one request or one response. The Handler appends to body, and the call's goroutine takes from it, both with the lock.
type call struct {
	conn   *Conn
	stream *http2.Stream
	size   int // bytes that the response has instead of the request's body; -1 means the body

	head     bool // the head of a response has arrived
	status   int
	body     []byte
	end      bool
	trailers map[string]string
	reset    *http2.StreamError
	released bool
	wake     chan struct{} // signaled when something has arrived
	room     chan struct{} // signaled when the queue has room
}

func newCall(c *Conn, s *http2.Stream) *call {
	v := &call{conn: c, stream: s, size: -1, wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	s.User = v
	return v
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

var errReleased = errors.New("the stream is released")

// await waits on ch until ready. It needs the lock, and gives it up meanwhile.
func (v *call) await(ch chan struct{}, ready func() bool) error {
	for v.reset == nil && !v.released && !ready() {
		v.conn.Unlock()
		<-ch
		v.conn.Lock()
	}
	switch {
	case v.released:
		return errReleased
	case v.reset != nil:
		return *v.reset
	}
	return nil
}

// release ends the use of the stream. It needs the lock.
func (v *call) release() {
	v.released = true
	v.stream.Release()
	signal(v.room)
}

// send writes p, and the end if end is set. It waits where the queue is full. It needs the lock.
func (v *call) send(p []byte, end bool) error {
	for {
		if err := v.await(v.room, func() bool { return !v.stream.Full() }); err != nil {
			return err
		}
		n := min(len(p), 16<<10)
		v.stream.Write(p[:n], end && n == len(p))
		if p = p[n:]; len(p) == 0 {
			return nil
		}
	}
}

// receive takes what has arrived of the body, or returns io.EOF after its end. It needs the lock.
func (v *call) receive() ([]byte, error) {
	if err := v.await(v.wake, func() bool { return len(v.body) > 0 || v.end }); err != nil {
		return nil, err
	}
	if len(v.body) == 0 {
		return nil, io.EOF
	}
	p := v.body
	v.body = nil
	v.stream.Consumed(len(p))
	return p, nil
}

func (e *echo) Headers(s *http2.Stream, h *http2.Head, end bool) {
	if h.Trailers {
		receiveHead(s, h, end)
		return
	}
	v := newCall(e.conn, s)
	v.end = end
	if n := h.Get("x-size"); n != nil {
		v.size, _ = strconv.Atoi(string(n))
	}
	e.calls.Go(func() { e.serve(v) })
}

func (*echo) Data(s *http2.Stream, p []byte, end bool)     { receiveData(s, p, end) }
func (*echo) Reset(s *http2.Stream, why http2.StreamError) { receiveReset(s, why) }
func (*echo) Writable(s *http2.Stream)                     { signal(s.User.(*call).room) }
func (*echo) Sent(*http2.Stream)                           {}
func (*echo) GoAway(uint32, http2.Code)                    {}

func receiveHead(s *http2.Stream, h *http2.Head, end bool) {
	v := s.User.(*call)
	v.end = end
	if h.Trailers {
		v.trailers = make(map[string]string)
		h.All(func(name, value []byte) bool { v.trailers[string(name)] = string(value); return true })
	} else if h.Status >= 200 {
		v.head, v.status = true, h.Status
	}
	signal(v.wake)
}

func receiveData(s *http2.Stream, p []byte, end bool) {
	v := s.User.(*call)
	v.body = append(v.body, p...)
	v.end = end
	signal(v.wake)
}

func receiveReset(s *http2.Stream, why http2.StreamError) {
	v := s.User.(*call)
	v.reset = &why
	signal(v.room)
	signal(v.wake)
}

func (e *echo) serve(v *call) {
	v.conn.Lock()
	defer v.conn.Unlock()
	defer v.release()
	enc := v.stream.BeginHeaders()
	enc.Status(200)
	enc.FieldString("content-type", "application/octet-stream")
	enc.FieldString("trailer", "x-total")
	enc.End(false)
	total := 0
	if v.size >= 0 {
		if v.send(make([]byte, v.size), false) != nil {
			return
		}
		total = v.size
	}
	for v.size < 0 {
		p, err := v.receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || v.send(p, false) != nil {
			return
		}
		total += len(p)
	}
	enc = v.stream.BeginHeaders()
	enc.FieldString("x-total", strconv.Itoa(total))
	enc.End(true)
}

// server accepts connections and serves echo on them.
type server struct {
	addr string
	l    net.Listener
	cfg  *Config

	mu    sync.Mutex
	conns map[*Conn]bool
	why   []error // what Serve of connections that ended returned
	all   sync.WaitGroup
}

// listen starts a server. wrap, if not nil, replaces an accepted connection, for TLS.
func listen(t testing.TB, cfg *Config, wrap func(net.Conn) net.Conn) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: l.Addr().String(), l: l, cfg: cfg, conns: make(map[*Conn]bool)}
	s.all.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			if wrap != nil {
				nc = wrap(nc)
			}
			s.serve(nc)
		}
	})
	t.Cleanup(s.close)
	return s
}

func (s *server) serve(nc net.Conn) {
	e := &echo{}
	c := Server(nc, s.cfg, e)
	e.conn = c
	s.mu.Lock()
	s.conns[c] = true
	s.mu.Unlock()
	s.all.Go(func() {
		why := c.Serve()
		e.calls.Wait()
		s.mu.Lock()
		delete(s.conns, c)
		s.why = append(s.why, why)
		s.mu.Unlock()
	})
}

// each calls f for each connection.
func (s *server) each(f func(*Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		f(c)
	}
}

func (s *server) close() {
	_ = s.l.Close()
	s.each(func(c *Conn) { c.Close(errors.New("the test ends")) })
	s.all.Wait()
}

// client is the Handler of a test's client.
type client struct{ conn *Conn }

func (*client) Headers(s *http2.Stream, h *http2.Head, end bool) { receiveHead(s, h, end) }
func (*client) Data(s *http2.Stream, p []byte, end bool)         { receiveData(s, p, end) }
func (*client) Reset(s *http2.Stream, why http2.StreamError)     { receiveReset(s, why) }
func (*client) Writable(s *http2.Stream)                         { signal(s.User.(*call).room) }
func (*client) Sent(*http2.Stream)                               {}
func (*client) GoAway(uint32, http2.Code)                        {}

// connect returns a client over nc and a channel with the result of Serve.
func connect(t testing.TB, nc net.Conn, cfg *Config) (*client, <-chan error) {
	t.Helper()
	h := &client{}
	h.conn = Client(nc, cfg, h)
	done := make(chan error, 1)
	go func() { done <- h.conn.Serve() }()
	t.Cleanup(func() {
		h.conn.Close(nil)
		<-h.conn.Done()
	})
	return h, done
}

// dial connects to addr.
func dial(t testing.TB, addr string, cfg *Config) (*client, <-chan error) {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, nc, cfg)
}

var errNoStream = errors.New("the connection opens no stream")

// open begins a request, with the lock.
func (h *client) open(fields map[string]string, end bool) (*call, error) {
	s := h.conn.HTTP2().Open()
	if s == nil {
		return nil, errNoStream
	}
	v := newCall(h.conn, s)
	e := s.BeginHeaders()
	e.Method([]byte("POST"))
	e.Scheme([]byte("http"))
	e.Authority([]byte("test"))
	e.Path([]byte("/"))
	for name, value := range fields {
		e.FieldString(name, value)
	}
	e.End(end)
	return v, nil
}

// post sends a body and returns the response's.
func (h *client) post(body []byte, fields map[string]string) (*call, []byte, error) {
	h.conn.Lock()
	defer h.conn.Unlock()
	v, err := h.open(fields, false)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	go func() {
		h.conn.Lock()
		defer h.conn.Unlock()
		_ = v.send(body, true) // an error is the end of the stream, which receive returns
	}()
	var got []byte
	for {
		p, err := v.receive()
		if errors.Is(err, io.EOF) {
			return v, got, nil
		}
		if err != nil {
			return v, got, err
		}
		got = append(got, p...)
	}
}

// settle waits until no more goroutines run than before.
func settle(t testing.TB, before int) {
	t.Helper()
	for limit := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("goroutines: %d, want %d\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
