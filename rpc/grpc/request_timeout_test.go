package grpc_test

import (
	"strings"
	"testing"
	"testing/synctest"
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

// TestRequestTimeout: requests of one message that stay incomplete end, and the connection serves others meanwhile and after it. A stream has no
// such bound, and a request whose connection is lost does not disturb the others. Not with unary calls: the objects that those leave for other
// tests would belong to this bubble.
func TestRequestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 5 * time.Second
		down := field{":path", "/test.Echo/Down"}
		r := newRig(t, newService(), &grpc.Config{RequestTimeout: limit}, nil)
		dial := func() *rawClient {
			nc, err := r.transport.Dial(t.Context(), r.addr)
			if err != nil {
				t.Fatal(err)
			}
			return newRawClient(t, nc)
		}
		stream, lost, c := dial(), dial(), dial()
		stream.startRequest(t, message(0, "hello")[:7], field{":path", "/test.Echo/Stream"})
		lost.startRequest(t, "", down)
		lost.conn.Close(nil)
		start := time.Now()
		for _, body := range []string{"", message(0, "hello")[:3], message(0, "hello")[:7]} {
			c.startRequest(t, body, down)
			time.Sleep(time.Second)
		}
		if got := c.send(t, request(message(0, "hello"), down)); got.get("grpc-status") != "0" {
			t.Errorf("a whole request beside them: got %+v", got)
		}
		for i := range 3 {
			if got := c.next(t); got.get("grpc-status") != "4" {
				t.Errorf("request %d: got %+v, want DeadlineExceeded", i, got)
			}
			if after := time.Since(start) - time.Duration(i)*time.Second; after < limit || after > limit+2*time.Second {
				t.Errorf("request %d has ended after %v, want %v and at most 2 s more", i, after, limit)
			}
		}
		if got := c.send(t, request(message(0, "hello"), down)); got.get("grpc-status") != "0" {
			t.Errorf("a whole request after them: got %+v", got)
		}
		select {
		case got := <-stream.done:
			t.Errorf("the stream has ended: %+v", got)
		default:
		}
	})
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
