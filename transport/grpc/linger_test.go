package grpc_test

import (
	"net"
	"testing"
	"time"

	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/transport/grpc"
)

// stalled is a client that never gives back window.
type stalled struct{ reset chan http2.Code }

func (s *stalled) Reset(stream *http2.Stream, why http2.StreamError) {
	stream.Release()
	s.reset <- why.Code
}

func (*stalled) Headers(*http2.Stream, *http2.Head, bool) {}
func (*stalled) Data(*http2.Stream, []byte, bool)         {}
func (*stalled) Writable(*http2.Stream)                   {}
func (*stalled) Sent(*http2.Stream)                       {}
func (*stalled) GoAway(uint32, http2.Code)                {}

// TestStalledClient: a client that takes no bytes cannot keep the call of a closed Conn, nor the connection below it.
func TestStalledClient(t *testing.T) {
	t.Parallel()
	l := listen(t, &grpc.Config{Linger: 50 * time.Millisecond})
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s := &stalled{reset: make(chan http2.Code, 1)}
	client := h2conn.Client(nc, &h2conn.Config{HTTP2: http2.Config{StreamWindow: 1 << 10}}, s)
	go func() { _ = client.Serve() }()
	defer func() {
		client.Close(nil)
		<-client.Done()
	}()
	client.Lock()
	e := client.HTTP2().Open().BeginHeaders()
	e.Method([]byte("POST"))
	e.Scheme([]byte("http"))
	e.Path([]byte(grpc.Method))
	e.Authority([]byte("server"))
	e.FieldString("content-type", "application/grpc")
	e.End(false)
	client.Unlock()
	conn := accept(t, l)
	if _, err := conn.Write(make([]byte, 32<<10)); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	select {
	case code := <-s.reset:
		if code != http2.Cancel {
			t.Errorf("the call was reset with %v, want %v", code, http2.Cancel)
		}
	case <-time.After(patience):
		t.Fatal("the call of a closed Conn goes on")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-client.Done():
	case <-time.After(patience):
		t.Error("the connection outlives the listener and its last call")
	}
}
