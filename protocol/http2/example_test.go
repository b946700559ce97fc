package http2_test

import (
	"fmt"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/http2"
)

// queue is an Output in memory. A driver's Output is the write queue of a socket.
type queue struct{ bytes []byte }

func (q *queue) Write(p []byte)                       { q.bytes = append(q.bytes, p...) }
func (q *queue) WriteShared(_ *bufpool.Buf, p []byte) { q.bytes = append(q.bytes, p...) }
func (q *queue) Full() bool                           { return len(q.bytes) >= 64<<10 }
func (*queue) Hold(int)                               {}
func (*queue) Crowded() bool                          { return false }

// greeter is the Handler of a server: it responds to each request with a greeting.
type greeter struct{}

func (greeter) Headers(s *http2.Stream, h *http2.Head, end bool) {
	if end {
		e := s.BeginHeaders()
		e.Status(200)
		e.FieldString("content-type", "text/plain")
		e.End(false)
		s.Write(append([]byte("hello "), h.Path[1:]...), true)
		s.Release()
	}
}

func (greeter) Data(*http2.Stream, []byte, bool)           {}
func (greeter) Reset(s *http2.Stream, _ http2.StreamError) { s.Release() }
func (greeter) Writable(*http2.Stream)                     {}
func (greeter) Sent(*http2.Stream)                         {}
func (greeter) GoAway(uint32, http2.Code)                  {}

// printer is the Handler of a client: it prints responses.
type printer struct{}

func (printer) Headers(_ *http2.Stream, h *http2.Head, _ bool) {
	fmt.Printf("%d %s\n", h.Status, h.Get("content-type"))
}

func (printer) Data(s *http2.Stream, p []byte, end bool) {
	fmt.Printf("%s\n", p)
	s.Consumed(len(p))
	if end {
		s.Release()
	}
}

func (printer) Writable(*http2.Stream)                       {}
func (printer) Sent(*http2.Stream)                           {}
func (printer) GoAway(uint32, http2.Code)                    {}
func (printer) Reset(s *http2.Stream, why http2.StreamError) { fmt.Println(why); s.Release() }

// A client and a server exchange bytes. Sockets would stand between their queues.
func Example() {
	var toServer, toClient queue
	server := http2.NewServer(nil, greeter{}, &toClient)
	client := http2.NewClient(nil, printer{}, &toServer)

	s := client.Open()
	e := s.BeginHeaders()
	e.Method([]byte("GET"))
	e.Scheme([]byte("https"))
	e.Authority([]byte("edge.example"))
	e.Path([]byte("/world"))
	e.End(true)

	for len(toServer.bytes)+len(toClient.bytes) > 0 {
		p := toServer.bytes
		toServer.bytes = nil
		if _, err := server.Receive(p); err != nil {
			fmt.Println(err)
		}
		p = toClient.bytes
		toClient.bytes = nil
		if _, err := client.Receive(p); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("streams:", server.Streams(), client.Streams())
	// Output:
	// 200 text/plain
	// hello world
	// streams: 0 0
}
