//go:build !race

// The race detector drops objects of a sync.Pool at random, so they are allocated again.

package http2

import (
	"bufio"
	"bytes"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"

	wire "example.com/ferry/protocol/http2"
)

// constantServer starts a server of HTTP/1.1 that sends the same response for each request with a body of size bytes. It
// allocates nothing.
func constantServer(tb testing.TB, size int, response string) string {
	return proxytest.Script(tb, func(conn net.Conn, r *bufio.Reader) {
		out, blank, size := []byte(response), []byte("\r\n"), size
		for {
			for {
				line, err := r.ReadSlice('\n')
				if err != nil {
					return
				}
				if bytes.Equal(line, blank) {
					break
				}
			}
			if _, err := r.Discard(size); err != nil {
				return
			}
			if _, err := conn.Write(out); err != nil {
				return
			}
		}
	})
}

// quietClient is a client of HTTP/2 that allocates nothing.
type quietClient struct {
	tb      testing.TB
	conn    net.Conn
	h2      *wire.Conn
	out, in []byte
	done    int
}

func (c *quietClient) Write(p []byte)                       { c.out = append(c.out, p...) }
func (c *quietClient) WriteShared(_ *bufpool.Buf, p []byte) { c.Write(p) }
func (c *quietClient) Full() bool                           { return false }
func (*quietClient) Hold(int)                               {}
func (*quietClient) Crowded() bool                          { return false }
func (c *quietClient) Writable(*wire.Stream)                {}
func (c *quietClient) Sent(*wire.Stream)                    {}
func (c *quietClient) GoAway(uint32, wire.Code)             { c.tb.Error("GOAWAY") }
func (c *quietClient) Reset(_ *wire.Stream, why wire.StreamError) {
	c.tb.Error(why)
}

func (c *quietClient) Headers(s *wire.Stream, h *wire.Head, end bool) {
	if h.Status != 200 {
		c.tb.Errorf("status %d", h.Status)
	}
	c.end(s, end)
}

func (c *quietClient) Data(s *wire.Stream, p []byte, end bool) {
	s.Consumed(len(p))
	c.end(s, end)
}

func (c *quietClient) end(s *wire.Stream, end bool) {
	if end {
		c.done++
		s.Release()
	}
}

// requests sends n requests with the body, five at a time, and awaits their responses.
func (c *quietClient) requests(n int, method, body []byte) {
	fields := [...][2][]byte{{[]byte("user-agent"), []byte("test")}, {[]byte("accept"), []byte("*/*")}, {[]byte("content-length"), strconv.AppendInt(nil, int64(len(body)), 10)}}
	scheme, authority, path := []byte("http"), []byte("a.example"), []byte("/path?query")
	for range n / 5 {
		c.done = 0
		for range 5 {
			s := c.h2.Open()
			e := s.BeginHeaders()
			e.Method(method)
			e.Scheme(scheme)
			e.Authority(authority)
			e.Path(path)
			for _, f := range fields {
				e.Field(f[0], f[1])
			}
			e.End(len(body) == 0)
			s.Write(body, true)
		}
		for c.done < 5 {
			if _, err := c.conn.Write(c.out); err != nil {
				c.tb.Fatal(err)
			}
			c.out = c.out[:0]
			m, err := c.conn.Read(c.in[len(c.in):cap(c.in)])
			if err != nil {
				c.tb.Fatal(err)
			}
			c.in = c.in[:len(c.in)+m]
			used, err := c.h2.Receive(c.in)
			if err != nil {
				c.tb.Fatal(err)
			}
			c.in = c.in[:copy(c.in, c.in[used:])]
		}
	}
}

// TestAllocations: a request from HTTP/2 to HTTP/1.1 allocates nothing once all buffers and objects are there.
func TestAllocations(t *testing.T) {
	for _, row := range []struct {
		method, body string
		config       Config
	}{
		{"GET", "", Config{}},
		{"POST", strings.Repeat("b", 1000), Config{}},
		{"GET", "", Config{HTTPConfig: exchange.HTTPConfig{Via: "test", ForwardedFor: true}}},
	} {
		t.Run(row.method, func(t *testing.T) {
			response := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nServer: test\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("r", 1000)
			r := start(t, setup{loop: loop.Config{Loops: 1}, config: row.config, servers: []string{constantServer(t, len(row.body), response)}})
			conn, err := net.Dial("tcp", r.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(proxytest.Patience))
			c := &quietClient{tb: t, conn: conn, in: make([]byte, 0, 64<<10)}
			c.h2 = wire.NewClient(nil, c, c)
			c.requests(2000, []byte(row.method), []byte(row.body))
			const n = 10_000
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c.requests(n, []byte(row.method), []byte(row.body))
			runtime.ReadMemStats(&after)
			if got := after.Mallocs - before.Mallocs; got > n/100 {
				t.Errorf("%d requests made %d allocations: want none but the runtime's own", n, got)
			}
		})
	}
}
