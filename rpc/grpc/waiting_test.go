package grpc_test

import (
	"context"
	"testing"
	"time"

	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/transport/memory"
)

// heldServer is a server of one stream at a time. It passes on each complete request instead of a response.
type heldServer struct {
	rawServer
	held chan *http2.Stream
}

func (h *heldServer) Headers(s *http2.Stream, _ *http2.Head, end bool) { h.Data(s, nil, end) }

func (h *heldServer) Data(s *http2.Stream, _ []byte, end bool) {
	if end {
		h.held <- s
	}
}

// TestStreamLostBeforeItsCall: the end of one call gives its place to a call that waits, and GOAWAY takes it away before the call
// has begun. The call must not use that stream, which is another call's by then.
func TestStreamLostBeforeItsCall(t *testing.T) {
	t.Parallel()
	network := memory.New(nil)
	l, err := network.Listen(t.Context(), "server")
	if err != nil {
		t.Fatal(err)
	}
	server := &heldServer{held: make(chan *http2.Stream, 1)}
	served := make(chan error)
	go func() {
		nc, err := l.Accept(t.Context())
		if err == nil {
			server.conn = h2conn.Server(nc, &h2conn.Config{HTTP2: http2.Config{MaxStreams: 1}}, server)
			err = server.conn.Serve()
		}
		served <- err
	}()
	conn, err := grpc.Protocol{}.Dial(t.Context(), network, "server")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type result struct {
		unsent bool
		err    error
	}
	start := func() chan result {
		c := make(chan result, 1)
		go func() {
			_, resp, err := invoke(ctx, conn, head(echoMethod), nil)
			c <- result{resp.Unsent, err}
		}()
		return c
	}
	first := start()
	held := <-server.held
	waiting := []chan result{start(), start()}
	for grpc.Waiting(conn) < len(waiting) {
		time.Sleep(time.Millisecond)
	}
	response := rawMessage{200, []field{{"content-type", "application/grpc"}}, message(0, "ok"), []field{{"grpc-status", "0"}}, 0}
	server.conn.Lock()
	response.write(held, false)
	held.Release()
	server.conn.HTTP2().GoAway(http2.EnhanceYourCalm)
	server.conn.Unlock()
	if got := <-first; got.err != nil {
		t.Error(got.err)
	}
	for _, c := range waiting {
		got := <-c
		if s := call.StatusOf(got.err); s == nil || s.Code != call.Unavailable || !got.unsent {
			t.Errorf("a call without a stream: got %v, Unsent %v, want %v, Unsent", got.err, got.unsent, call.Unavailable)
		}
	}
	if err := conn.Close(ctx); err != nil {
		t.Error(err)
	}
	<-served
	_ = l.Close()
}
