package http1

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/loop"
)

// benchClient repeats the same request until no requests are left.
type benchClient struct {
	loop.Base
	request  []byte
	response int // length of a response in bytes
	got      int
	left     *atomic.Int64
	done     chan<- struct{}
}

func (a *benchClient) Opened(c *loop.Conn) { c.Write(a.request) }

func (a *benchClient) Data(c *loop.Conn, p []byte) int {
	if a.got += len(p); a.got < a.response {
		return len(p)
	}
	a.got = 0
	if a.left.Add(-1) < 0 {
		c.Close()
		a.done <- struct{}{}
		return len(p)
	}
	c.Write(a.request)
	return len(p)
}

// benchServer responds to requests of a fixed length.
type benchServer struct {
	loop.Base
	request  int // length of a request in bytes
	got      int
	response []byte
}

func (a *benchServer) Data(c *loop.Conn, p []byte) int {
	a.got += len(p)
	for ; a.got >= a.request; a.got -= a.request {
		c.Write(a.response)
	}
	return len(p)
}

// BenchmarkRequests sends requests of 1 KB with responses of 1 KB over 100 connections. The client and the server
// have a loop of their own. The time includes client, proxy and server, so use the result for profiles and for
// comparing two builds only.
func BenchmarkRequests(b *testing.B) {
	body := strings.Repeat("b", 1000)
	request := fmt.Sprintf("POST /path?query HTTP/1.1\r\nHost: a.example\r\nUser-Agent: bench\r\nAccept: */*\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	response := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	const conns = 100
	g, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		b.Fatal(err)
	}
	ln, err := g.Listen(anyPort, func(*loop.Conn) loop.Handler { return &benchServer{request: len(request), response: []byte(response)} })
	if err != nil {
		b.Fatal(err)
	}
	r := start(b, setup{loop: loop.Config{Loops: 1}, servers: []string{ln.Addr().String()}})
	at, err := loop.ParseAddr(r.addr)
	if err != nil {
		b.Fatal(err)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan struct{}, conns)
	b.ReportAllocs()
	b.ResetTimer()
	l := g.Loops()[0]
	if err := l.Post(func() {
		for range conns {
			l.Dial(at, time.Second, &benchClient{request: []byte(request), response: len(response), left: &left, done: done})
		}
	}); err != nil {
		b.Fatal(err)
	}
	for range conns {
		<-done
	}
	sum, _ := r.Group.Stats()
	b.ReportMetric(float64(sum.Reads)/float64(b.N), "reads/op")
	b.ReportMetric(float64(sum.Writes)/float64(b.N), "writes/op")
	b.ReportMetric(float64(sum.Polls)/float64(b.N), "polls/op")
}
