package grpc_test

import (
	"strings"
	"testing"
	"time"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
)

// startRequest sends the head of a request and the first part of its body, and leaves it open.
func (c *rawClient) startRequest(t *testing.T, body string, changes ...field) {
	t.Helper()
	c.conn.Lock()
	defer c.conn.Unlock()
	s := c.conn.HTTP2().Open()
	if s == nil {
		t.Fatalf("the connection accepts no request: %v", c.conn.Err())
	}
	c.got = rawMessage{}
	m := request("", changes...)
	e := s.BeginHeaders()
	e.Scheme([]byte("http"))
	e.Authority([]byte("server"))
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
	e.End(false)
	if body != "" {
		s.Write([]byte(body), false)
	}
}

// TestRequestTimeout: a unary request that stays incomplete ends, and the connection serves others meanwhile and after it. A stream has no
// such bound.
func TestRequestTimeout(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), &grpc.Config{RequestTimeout: 50 * time.Millisecond}, nil)
	dial := func() *rawClient {
		nc, err := r.transport.Dial(t.Context(), r.addr)
		if err != nil {
			t.Fatal(err)
		}
		return newRawClient(t, nc)
	}
	stream := dial()
	stream.startRequest(t, message(0, "hello")[:7], field{":path", "/test.Echo/Stream"})
	c := dial()
	for name, body := range map[string]string{"no body": "", "half a prefix": message(0, "hello")[:3], "half a message": message(0, "hello")[:7]} {
		c.startRequest(t, body)
		if got := <-c.done; got.get("grpc-status") != "4" {
			t.Errorf("%s: got %+v, want DeadlineExceeded", name, got)
		}
		if got := c.send(t, request(message(0, "hello"))); got.get("grpc-status") != "0" {
			t.Errorf("a whole request after %s: got %+v", name, got)
		}
	}
	select {
	case got := <-stream.done:
		t.Errorf("the stream has ended: %+v", got)
	default:
	}
}

// TestRequestTimeoutOfSeveral: requests that begin one after the other end one after the other, and those that were reset do not
// disturb them.
func TestRequestTimeoutOfSeveral(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), &grpc.Config{RequestTimeout: 20 * time.Millisecond}, nil)
	nc, err := r.transport.Dial(t.Context(), r.addr)
	if err != nil {
		t.Fatal(err)
	}
	c := newRawClient(t, nc)
	c.done = make(chan rawMessage, 3)
	for range 3 {
		c.startRequest(t, "")
		time.Sleep(5 * time.Millisecond)
	}
	for range 3 {
		if got := <-c.done; got.get("grpc-status") != "4" {
			t.Errorf("got %+v, want DeadlineExceeded", got)
		}
	}
	nc, err = r.transport.Dial(t.Context(), r.addr)
	if err != nil {
		t.Fatal(err)
	}
	lost := newRawClient(t, nc)
	lost.startRequest(t, "")
	lost.conn.Close(nil)
	if _, _, err := invoke(t.Context(), r.conn, head(echoMethod), []byte("a")); err != nil {
		t.Error(err)
	}
}

// TestLongStatus: a status that does not fit into the head that a client accepts arrives, cut.
func TestLongStatus(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), &grpc.Config{MaxHeader: 32 << 10}, &grpc.Config{MaxHeader: 4 << 10})
	for name, text := range map[string]string{"ASCII": strings.Repeat("a", 20_000), "percent": strings.Repeat("é", 4_000)} {
		h := head(echoMethod)
		h.Metadata.Add("x-fail-long", name)
		_, _, err := invoke(t.Context(), r.conn, h, []byte(text))
		s := call.StatusOf(err)
		if s == nil || s.Code != call.NotFound || len(s.Message) < 1000 || !strings.HasSuffix(s.Message, "...") || !strings.HasPrefix(text, strings.TrimSuffix(s.Message, "...")) {
			t.Errorf("%s: got %.100v", name, err)
		}
	}
}
