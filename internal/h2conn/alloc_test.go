package h2conn

import (
	"net"
	"testing"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/http2"
)

// inline is the Handler of a server that responds at once, and of a client that signals the end of a response.
type inline struct{ done chan struct{} }

var (
	hello  = []byte("hello")
	method = []byte("POST")
	scheme = []byte("http")
	path   = []byte("/greeter.Greeter/Hello")
	host   = []byte("127.0.0.1")
)

func (i *inline) Headers(s *http2.Stream, h *http2.Head, end bool) {
	if i.done != nil && end {
		s.Release()
		i.done <- struct{}{}
	}
}

func (i *inline) Data(s *http2.Stream, p []byte, end bool) {
	s.Consumed(len(p))
	if i.done != nil || !end {
		return
	}
	e := s.BeginHeaders()
	e.Status(200)
	e.FieldString("content-type", "application/grpc")
	e.End(false)
	s.Write(hello, false)
	e = s.BeginHeaders()
	e.FieldString("grpc-status", "0")
	e.End(true)
	s.Release()
}

func (*inline) Reset(s *http2.Stream, _ http2.StreamError) { s.Release() }
func (*inline) Writable(*http2.Stream)                     {}
func (*inline) Sent(*http2.Stream)                         {}
func (*inline) GoAway(uint32, http2.Code)                  {}

// request sends a small request on a kept connection.
func request(c *Conn) {
	c.Lock()
	s := c.HTTP2().Open()
	e := s.BeginHeaders()
	e.Method(method)
	e.Scheme(scheme)
	e.Authority(host)
	e.Path(path)
	e.FieldString("content-type", "application/grpc")
	e.FieldString("te", "trailers")
	e.End(false)
	s.Write(hello, true)
	c.Unlock()
}

// kept returns a client whose server responds at once, and the channel with the ends of responses.
func kept(t testing.TB) (*Conn, chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	user := &inline{done: make(chan struct{}, 1)}
	ends := []*Conn{Client(near, nil, user), Server(far, nil, &inline{})}
	for _, c := range ends {
		go func() { _ = c.Serve() }()
	}
	t.Cleanup(func() {
		for _, c := range ends {
			c.Close(nil)
			<-c.Done()
		}
	})
	return ends[0], user.done
}

// TestAllocations holds that a small request and its response on a kept connection allocate nothing, at both ends together.
func TestAllocations(t *testing.T) {
	c, done := kept(t)
	run := func() {
		request(c)
		<-done
	}
	for range 100 {
		run()
	}
	if n := testing.AllocsPerRun(500, run); n > 0 && bufpool.Reuse && !raceEnabled {
		t.Errorf("%v allocations a request, want 0", n)
	}
}

// BenchmarkRequest has one request at a time on a connection over TCP.
func BenchmarkRequest(b *testing.B) {
	c, done := kept(b)
	b.ReportAllocs()
	for b.Loop() {
		request(c)
		<-done
	}
}
