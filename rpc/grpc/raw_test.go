package grpc_test

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/transport/memory"
)

// field is a field of a head.
type field [2]string

// rawMessage is what one side of a stream sends: a head, a body, and trailers if there are any.
type rawMessage struct {
	status   int // of a response; 0 means a reset alone
	fields   []field
	body     string
	trailers []field
	reset    http2.Code // sent after the body; 0 means none
}

// write sends m. A request's pseudo-header fields are among its fields. The lock is held.
func (m *rawMessage) write(s *http2.Stream, request bool) {
	if m.status == 0 && !request {
		s.Reset(m.reset)
		return
	}
	e := s.BeginHeaders()
	if request {
		e.Scheme([]byte("http"))
		e.Authority([]byte("server"))
	} else {
		e.Status(m.status)
	}
	for _, f := range m.fields {
		switch f[0] {
		case ":method":
			e.Method([]byte(f[1]))
		case ":path":
			e.Path([]byte(f[1]))
		default:
			e.FieldString(f[0], f[1])
		}
	}
	e.End(m.body == "" && m.trailers == nil && m.reset == 0)
	if m.body != "" {
		s.Write([]byte(m.body), m.trailers == nil && m.reset == 0)
	}
	if m.trailers != nil {
		e := s.BeginHeaders()
		for _, f := range m.trailers {
			e.FieldString(f[0], f[1])
		}
		e.End(true)
	}
	if m.reset != 0 {
		s.Reset(m.reset)
	}
}

// rawClient is a client of HTTP/2 that knows nothing of gRPC.
type rawClient struct {
	conn *h2conn.Conn
	done chan rawMessage
	got  rawMessage

	holdWindow bool // it takes what the window allows and gives nothing back

	// With pause, it gives back each piece of the one response after this time.
	pause time.Duration
	ended bool
}

func newRawClient(t *testing.T, nc net.Conn) *rawClient {
	t.Helper()
	return newRawClientWith(t, nc, nil)
}

func newRawClientWith(t *testing.T, nc net.Conn, cfg *h2conn.Config) *rawClient {
	t.Helper()
	c := &rawClient{done: make(chan rawMessage, 100)}
	c.conn = h2conn.Client(nc, cfg, c)
	go func() { _ = c.conn.Serve() }()
	t.Cleanup(func() {
		c.conn.Close(nil)
		<-c.conn.Done()
	})
	return c
}

// send sends a request and waits for the end of its response.
func (c *rawClient) send(t *testing.T, m *rawMessage) rawMessage {
	t.Helper()
	c.begin(t, m)
	return c.next(t)
}

// next waits for the end of a response.
func (c *rawClient) next(t *testing.T) rawMessage {
	t.Helper()
	select {
	case m := <-c.done:
		return m
	case <-time.After(time.Minute):
		t.Fatal("waited a minute for the end of a response")
	}
	return rawMessage{}
}

// begin sends a request.
func (c *rawClient) begin(t *testing.T, m *rawMessage) {
	t.Helper()
	c.conn.Lock()
	s := c.conn.HTTP2().Open()
	if s == nil {
		c.conn.Unlock()
		t.Fatalf("the connection accepts no request: %v", c.conn.Err())
	}
	c.got = rawMessage{}
	m.write(s, true)
	c.conn.Unlock()
}

func (c *rawClient) Headers(s *http2.Stream, h *http2.Head, end bool) {
	var fields []field
	h.All(func(name, value []byte) bool {
		fields = append(fields, field{string(name), string(value)})
		return true
	})
	if h.Trailers {
		c.got.trailers = fields
	} else {
		c.got.status, c.got.fields = h.Status, fields
	}
	c.end(s, end)
}

func (c *rawClient) Data(s *http2.Stream, p []byte, end bool) {
	c.got.body += string(p)
	switch {
	case c.pause > 0:
		time.AfterFunc(c.pause, func() {
			c.conn.Lock()
			defer c.conn.Unlock()
			if !c.ended {
				s.Consumed(len(p))
			}
		})
	case !c.holdWindow:
		s.Consumed(len(p))
	}
	c.end(s, end)
}

func (c *rawClient) Reset(s *http2.Stream, why http2.StreamError) {
	c.got.reset = why.Code
	c.end(s, true)
}

func (c *rawClient) end(s *http2.Stream, end bool) {
	if end {
		c.ended = true
		s.Release()
		c.done <- c.got
		c.got = rawMessage{}
	}
}

func (*rawClient) Writable(*http2.Stream)    {}
func (*rawClient) Sent(*http2.Stream)        {}
func (*rawClient) GoAway(uint32, http2.Code) {}

// get returns the value of a field of the last head.
func (m *rawMessage) get(name string) string {
	for _, f := range append(m.trailers, m.fields...) {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}

// rawServer is a server of HTTP/2 that responds to each request, once it is complete, with the message of its path.
type rawServer struct {
	mu        sync.Mutex
	responses map[string]rawMessage
	goAway    bool // GOAWAY instead of a response: no request is processed
	refusals  int  // number of requests to refuse first
	conn      *h2conn.Conn
}

// serveRaw starts a server at "server" of a new network.
func serveRaw(t *testing.T, r *rawServer) *memory.Network {
	t.Helper()
	network := memory.New(nil)
	l, err := network.Listen(t.Context(), "server")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		nc, err := l.Accept(t.Context())
		if err != nil {
			return
		}
		r.conn = h2conn.Server(nc, nil, r)
		_ = r.conn.Serve()
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return network
}

func (r *rawServer) Headers(s *http2.Stream, h *http2.Head, end bool) {
	s.User = string(h.Path)
	r.Data(s, nil, end)
}

func (r *rawServer) Data(s *http2.Stream, p []byte, end bool) {
	s.Consumed(len(p))
	if !end {
		return
	}
	if r.goAway {
		r.conn.HTTP2().GoAway(http2.EnhanceYourCalm)
		r.conn.Close(fmt.Errorf("a test"))
		return
	}
	r.mu.Lock()
	m := r.responses[s.User.(string)]
	if r.refusals > 0 {
		r.refusals--
		m = rawMessage{reset: http2.RefusedStream}
	}
	r.mu.Unlock()
	m.write(s, false)
	s.Release()
}

func (*rawServer) Reset(s *http2.Stream, _ http2.StreamError) { s.Release() }
func (*rawServer) Writable(*http2.Stream)                     {}
func (*rawServer) Sent(*http2.Stream)                         {}
func (*rawServer) GoAway(uint32, http2.Code)                  {}

// message returns a message with its prefix.
func message(flag byte, text string) string {
	return string([]byte{flag, 0, 0, byte(len(text) >> 8), byte(len(text))}) + text
}

// request returns a request of a unary call with some fields replaced or added. An empty value removes a field.
func request(body string, changes ...field) *rawMessage {
	m := &rawMessage{body: body, fields: []field{{":method", "POST"}, {":path", "/test.Echo/Unary"}, {"content-type", "application/grpc"}, {"te", "trailers"}}}
	for _, change := range changes {
		found := false
		for i, f := range m.fields {
			if f[0] == change[0] {
				m.fields[i] = change
				found = true
			}
		}
		if !found {
			m.fields = append(m.fields, change)
		}
	}
	var kept []field
	for _, f := range m.fields {
		if f[1] != "" || strings.HasPrefix(f[0], "x-") {
			kept = append(kept, f)
		}
	}
	m.fields = kept
	return m
}
