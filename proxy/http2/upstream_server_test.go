package http2

import (
	"net"
	"sync"
	"testing"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/proxy/proxytest"

	wire "example.com/ferry/protocol/http2"
)

// scriptedServer is a server of HTTP/2 that a test controls frame by frame. Its functions are called one at a time, with mu
// held. Any of them may be nil.
type scriptedServer struct {
	config   wire.Config
	accepted func(*scriptedConn)
	head     func(*scriptedConn, *wire.Stream, *wire.Head, bool)
	data     func(*scriptedConn, *wire.Stream, []byte, bool)
	reset    func(*scriptedConn, *wire.Stream, wire.StreamError)

	addr string
	mu   sync.Mutex
}

// scriptedConn is one connection of a scriptedServer.
type scriptedConn struct {
	conn   net.Conn
	server *scriptedServer
	http2  *wire.Conn
	queue  []byte
	mute   bool // nothing is sent or received any more
}

func (s *scriptedServer) start(tb testing.TB) *scriptedServer {
	s.addr = proxytest.Serve(tb, func(conn net.Conn) {
		c := &scriptedConn{conn: conn, server: s}
		c.do(func() {
			c.http2 = wire.NewServer(&s.config, (*scriptedEvents)(c), (*scriptedOutput)(c))
			if s.accepted != nil {
				s.accepted(c)
			}
		})
		var unread []byte
		for buf := make([]byte, 16<<10); ; {
			n, err := conn.Read(buf)
			if err != nil {
				c.do(func() { c.http2.Closed(err) })
				return
			}
			unread = append(unread, buf[:n]...)
			c.do(func() {
				m, err := c.http2.Receive(unread)
				if err != nil {
					tb.Errorf("the server finds fault with the proxy: %v", err)
					conn.Close()
				}
				unread = unread[m:]
			})
		}
	})
	return s
}

// do calls f and sends what f has written.
func (c *scriptedConn) do(f func()) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.mute {
		return
	}
	f()
	for len(c.queue) > 0 {
		out := c.queue
		c.queue = nil
		_, _ = c.conn.Write(out) // an error means that the proxy has closed the connection: Read reports it
		c.http2.Flush()
	}
}

// respond writes an interim response or a whole response.
func (c *scriptedConn) respond(s *wire.Stream, status int, body string, fields ...string) {
	e := s.BeginHeaders()
	e.Status(status)
	for i := 0; i < len(fields); i += 2 {
		e.FieldString(fields[i], fields[i+1])
	}
	e.End(body == "" && status >= 200)
	if body != "" {
		s.Write([]byte(body), true)
	}
	if status >= 200 {
		s.Release()
	}
}

// scriptedEvents is the Handler of a scriptedConn.
type scriptedEvents scriptedConn

func (e *scriptedEvents) Headers(s *wire.Stream, h *wire.Head, end bool) {
	if e.server.head != nil {
		e.server.head((*scriptedConn)(e), s, h, end)
	}
}

func (e *scriptedEvents) Data(s *wire.Stream, p []byte, end bool) {
	if e.server.data != nil {
		e.server.data((*scriptedConn)(e), s, p, end)
	}
}

func (e *scriptedEvents) Reset(s *wire.Stream, why wire.StreamError) {
	if e.server.reset != nil {
		e.server.reset((*scriptedConn)(e), s, why)
	}
	s.Release()
}

func (e *scriptedEvents) Writable(*wire.Stream)    {}
func (e *scriptedEvents) Sent(*wire.Stream)        {}
func (e *scriptedEvents) GoAway(uint32, wire.Code) {}

// scriptedOutput is the Output of a scriptedConn.
type scriptedOutput scriptedConn

func (o *scriptedOutput) Write(p []byte)                       { o.queue = append(o.queue, p...) }
func (o *scriptedOutput) WriteShared(_ *bufpool.Buf, p []byte) { o.Write(p) }
func (o *scriptedOutput) Full() bool                           { return false }
func (*scriptedOutput) Hold(int)                               {}
func (*scriptedOutput) Crowded() bool                          { return false }
