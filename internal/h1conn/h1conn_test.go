package h1conn_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/h1conn"
	"example.com/ferry/protocol/http1"
)

// patience bounds each wait of a test.
const patience = 30 * time.Second

// server accepts connections on a loopback address.
type server struct {
	addr string

	mu    sync.Mutex
	conns []*h1conn.Conn
}

// listen serves requests with handle. Zero fields of cfg get values for tests.
func listen(t *testing.T, cfg h1conn.Config, handle func(r *h1conn.Request) h1conn.Response) *server {
	t.Helper()
	for _, d := range []*time.Duration{&cfg.HeaderTimeout, &cfg.BodyTimeout, &cfg.IdleTimeout} {
		if *d == 0 {
			*d = patience
		}
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 1 << 20
	}
	cfg.Handle, cfg.Farewell = handle, []h1conn.Field{{Name: "draining", Value: "1"}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: l.Addr().String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			c := h1conn.NewConn(nc, &cfg)
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			all.Go(c.Serve)
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.each((*h1conn.Conn).Close)
		all.Wait()
	})
	return s
}

func (s *server) each(f func(*h1conn.Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		f(c)
	}
}

// echo responds with the request: method, target, the field x, and the body.
func echo(r *h1conn.Request) h1conn.Response {
	body, err := r.Body(nil)
	switch {
	case errors.Is(err, h1conn.ErrTooLarge):
		return h1conn.Response{Status: http.StatusRequestEntityTooLarge}
	case err != nil:
		return h1conn.Response{Status: http.StatusBadRequest, Body: []byte(err.Error())}
	}
	return h1conn.Response{Status: http.StatusOK, Body: fmt.Appendf(nil, "%s %s %s %s", r.Method, r.Target, h1conn.Get(r.Fields, "x"), body)}
}

func (s *server) dial(t *testing.T) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(patience))
	return nc
}

// read reads a response as net/http does.
func read(t *testing.T, in *bufio.Reader, method string) (r *http.Response, body string) {
	t.Helper()
	r, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(b)
}

// TestRequests sends requests as bytes, whole and in pieces of each size, and several at once.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := listen(t, h1conn.Config{MaxBody: 1000}, echo)
	large := strings.Repeat("y", 900)
	for _, row := range []struct {
		name, request string
		status        int
		body          string
		closes        bool
	}{
		{"a length", "POST /a?b HTTP/1.1\r\nHost: h\r\nX: 1\r\nContent-Length: 2\r\n\r\nhi", 200, "POST /a?b 1 hi", false},
		{"no body", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", 200, "GET /  ", false},
		{"chunks", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;a=b\r\n yo\r\n0\r\nT: v\r\n\r\n", 200, "POST /  hi yo", false},
		{"a body larger than the buffer", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\n" + large, 200, "POST /  " + large, false},
		{"HEAD", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", 200, "", false},
		{"Connection: close", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 200, "GET /  ", true},
		{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", 200, "GET /  ", true},
		{"too long", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n" + large, 413, "", true},
		{"too long in chunks", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + large + large, 413, "", true},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400, "no Host field\n", true},
		{"two lengths", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "both Content-Length and Transfer-Encoding\n", true},
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			nc := s.dial(t)
			go func() {
				for rest := row.request; rest != ""; {
					n := min(piece, len(rest))
					if _, err := io.WriteString(nc, rest[:n]); err != nil {
						return
					}
					rest = rest[n:]
				}
			}()
			in := bufio.NewReader(nc)
			r, body := read(t, in, strings.Fields(row.request)[0])
			if r.StatusCode != row.status || body != row.body || r.Close != row.closes || r.Header.Get("Date") == "" {
				t.Errorf("%s in pieces of %d: got %d %q, close %v; want %d %q, %v", row.name, piece, r.StatusCode, body, r.Close, row.status, row.body, row.closes)
			}
			if row.closes {
				if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
					t.Errorf("%s in pieces of %d: the connection goes on: %v", row.name, piece, err)
				}
			} else if io.WriteString(nc, "GET /next HTTP/1.1\r\nHost: h\r\n\r\n"); row.status == 200 {
				if _, body := read(t, in, "GET"); body != "GET /next  " {
					t.Errorf("%s in pieces of %d: the next request gets %q", row.name, piece, body)
				}
			}
			nc.Close()
		}
	}
	nc := s.dial(t)
	_, _ = io.WriteString(nc, strings.Repeat("POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nz", 200))
	in := bufio.NewReader(nc)
	for i := range 200 {
		if _, body := read(t, in, "POST"); body != "POST /p  z" {
			t.Fatalf("request %d of 200 at once gets %q", i+1, body)
		}
	}
}

// TestSameHeads: messages whose heads are the same have bodies of their own, and a response is read as its request's method says.
func TestSameHeads(t *testing.T) {
	t.Parallel()
	nc := listen(t, h1conn.Config{}, echo).dial(t)
	in := bufio.NewReader(nc)
	const head = "POST /a HTTP/1.1\r\nHost: h\r\nX: 1\r\n"
	for i, rest := range []string{"Content-Length: 2\r\n\r\nhi", "Content-Length: 2\r\n\r\nho", "Content-Length: 3\r\n\r\nhey", "Transfer-Encoding: chunked\r\n\r\n2\r\nhu\r\n0\r\nX: 2\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"} {
		_, _ = io.WriteString(nc, head+rest)
		if _, body := read(t, in, "POST"); body != "POST /a 1 "+[]string{"hi", "ho", "hey", "hu", "x"}[i] {
			t.Errorf("request %d gets %q", i+1, body)
		}
	}
	a, b := net.Pipe()
	defer a.Close()
	_ = a.SetDeadline(time.Now().Add(patience))
	go func() {
		defer b.Close()
		in := bufio.NewReader(b)
		for _, body := range []string{"hi", "", "ho"} {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			_, _ = io.WriteString(b, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"+body)
		}
	}()
	c := h1conn.NewClient(a, &http1.Limits{}, 1000)
	for _, row := range [][2]string{{"GET", "hi"}, {"HEAD", ""}, {"GET", "ho"}} {
		if r, err := c.Do(row[0], "/", []h1conn.Field{{Name: "Host", Value: "h"}}, nil); err != nil || string(r.Body) != row[1] || !r.KeepAlive {
			t.Errorf("%s: got %+v with %q, %v", row[0], r, r.Body, err)
		}
	}
}

// TestExpect: a client that waits for 100 Continue gets it before the body is read.
func TestExpect(t *testing.T) {
	t.Parallel()
	nc := listen(t, h1conn.Config{}, echo).dial(t)
	_, _ = io.WriteString(nc, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	in := bufio.NewReader(nc)
	if line, err := in.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	_, _ = in.ReadString('\n')
	_, _ = io.WriteString(nc, "hi")
	if _, body := read(t, in, "POST"); body != "POST /  hi" {
		t.Errorf("got %q", body)
	}
}

// TestExpectAfterPause: the time that one response had does not count for the 100 Continue of the next request.
func TestExpectAfterPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nc, far := net.Pipe()
		defer nc.Close()
		cfg := &h1conn.Config{Limits: &http1.Limits{}, MaxBody: 1000, HeaderTimeout: time.Minute, BodyTimeout: time.Second, IdleTimeout: time.Minute, Handle: echo}
		go h1conn.NewConn(far, cfg).Serve()
		in := bufio.NewReader(nc)
		for i := range 2 {
			_, _ = io.WriteString(nc, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
			if line, err := in.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
				t.Fatalf("request %d: got %q, %v", i+1, line, err)
			}
			_, _ = in.ReadString('\n')
			_, _ = io.WriteString(nc, "hi")
			if _, body := read(t, in, "POST"); body != "POST /  hi" {
				t.Errorf("request %d: got %q", i+1, body)
			}
			time.Sleep(2 * cfg.BodyTimeout)
		}
	})
}

// TestSlowClients: a head or a body that does not come in time ends the connection with a status.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	s := listen(t, h1conn.Config{HeaderTimeout: 20 * time.Millisecond, BodyTimeout: 20 * time.Millisecond, IdleTimeout: 20 * time.Millisecond}, echo)
	for request, want := range map[string]int{"": 408, "GET / HT": 408, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhi": 400} {
		nc := s.dial(t)
		_, _ = io.WriteString(nc, request)
		in := bufio.NewReader(nc)
		r, _ := read(t, in, "POST")
		if _, err := in.ReadByte(); r.StatusCode != want || !r.Close || !errors.Is(err, io.EOF) {
			t.Errorf("%q: got %d, close %v, and then %v; want %d and the end", request, r.StatusCode, r.Close, err, want)
		}
	}
}

// handlerContext is a context of which a test sees the end.
type handlerContext struct{ end chan error }

func (c handlerContext) End(why error) { c.end <- why }

// TestClientLeaves: the context of a handler ends when its client closes the connection, and not when the client sends its next request.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	began, ended, release := make(chan bool, 2), make(chan error, 2), make(chan bool)
	s := listen(t, h1conn.Config{}, func(r *h1conn.Request) h1conn.Response {
		_, _ = r.Body(nil)
		ctx := handlerContext{make(chan error, 1)}
		r.Watch(ctx)
		began <- true
		select {
		case err := <-ctx.end:
			ended <- err
		case <-release:
			ended <- nil
		}
		return h1conn.Response{Status: http.StatusOK}
	})
	nc := s.dial(t)
	const request = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"
	_, _ = io.WriteString(nc, request)
	<-began
	time.Sleep(10 * time.Millisecond) // so that the connection is watched; the result does not depend on it
	_, _ = io.WriteString(nc, request)
	release <- true
	if err := <-ended; err != nil {
		t.Errorf("the next request ends the context: %v", err)
	}
	<-began
	nc.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the client has left: got %v, want Canceled", err)
	}
}

// TestGoodbye: a request that crosses the goodbye of a server is known to be unhandled, and a request in progress gets its response.
func TestGoodbye(t *testing.T) {
	t.Parallel()
	began, release := make(chan bool, 1), make(chan bool)
	var handled sync.Map
	s := listen(t, h1conn.Config{}, func(r *h1conn.Request) h1conn.Response {
		handled.Store(r.Target, true)
		if r.Target == "/busy" {
			began <- true
			<-release
		}
		return echo(r)
	})
	client := func() *h1conn.Client { return h1conn.NewClient(s.dial(t), &http1.Limits{}, 1000) }
	host := []h1conn.Field{{Name: "Host", Value: "h"}}
	quiet, crossing, busy := client(), client(), client()
	for _, c := range []*h1conn.Client{quiet, crossing} {
		if r, err := c.Do("POST", "/first", host, []byte("a")); err != nil || r.Status != 200 || !r.KeepAlive {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
	done := make(chan h1conn.Result, 1)
	go func() {
		r, err := busy.Do("POST", "/busy", host, []byte("b"))
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	<-began
	if !quiet.Alive() {
		t.Error("an idle connection counts as ended")
	}
	s.each((*h1conn.Conn).Drain)
	for late := time.Now().Add(patience); quiet.Alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the goodbye does not arrive")
		}
	}
	r, err := crossing.Do("POST", "/crossing", host, []byte("c"))
	if !errors.Is(err, h1conn.ErrGoodbye) || !r.Unhandled || h1conn.Get(r.Fields, "draining") != "1" {
		t.Errorf("a request behind the goodbye: got %+v, %v", r, err)
	}
	if _, was := handled.Load("/crossing"); was {
		t.Error("it was handled")
	}
	close(release)
	if r := <-done; string(r.Body) != "POST /busy  b" || r.KeepAlive || h1conn.Get(r.Fields, "draining") != "1" {
		t.Errorf("the request in progress gets %+v with %q, want a response that ends the connection", r, r.Body)
	}
}

// drainedConn drains its connection each time that it has sent a response.
type drainedConn struct {
	net.Conn
	drain func()
}

func (c *drainedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	go c.drain()
	time.Sleep(2 * time.Millisecond) // so that Drain comes before the next request; the result does not depend on it
	return n, err
}

// TestDrainBetweenPipelined: of requests that have arrived together, none is handled behind a goodbye, and each handled one gets its response.
func TestDrainBetweenPipelined(t *testing.T) {
	t.Parallel()
	for range 50 {
		near, far := net.Pipe()
		_ = near.SetDeadline(time.Now().Add(patience))
		handled := 0
		var c *h1conn.Conn
		cfg := &h1conn.Config{Limits: &http1.Limits{}, MaxBody: 1000, HeaderTimeout: patience, BodyTimeout: patience, IdleTimeout: patience}
		watched := &drainedConn{Conn: far, drain: func() {}}
		cfg.Handle = func(r *h1conn.Request) h1conn.Response {
			handled++
			watched.drain = c.Drain
			return h1conn.Response{Status: http.StatusOK}
		}
		c = h1conn.NewConn(watched, cfg)
		done := make(chan bool)
		go func() {
			c.Serve()
			close(done)
		}()
		go func() { _, _ = io.WriteString(near, strings.Repeat("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 3)) }()
		in := bufio.NewReader(near)
		answered, last := 0, false
		for !last {
			r, _ := read(t, in, "GET")
			if last = r.Close; r.StatusCode == http.StatusOK {
				answered++
			}
		}
		near.Close()
		<-done
		if answered != handled {
			t.Fatalf("%d requests were handled, %d of them got a response before the goodbye", handled, answered)
		}
	}
}

// TestClientResponses: what a client makes of the responses of other servers.
func TestClientResponses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, response string
		status         int
		body           string
		keepAlive      bool
		err            string
	}{
		{"a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true, ""},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 200, "hi", true, ""},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nhi", 200, "hi", false, ""},
		{"interim responses", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true, ""},
		{"bytes behind it", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiho", 200, "hi", false, ""},
		{"cut in the head", "HTTP/1.1 200 OK\r\nCont", 0, "", false, "unexpected EOF"},
		{"cut in the body", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", 200, "", false, "unexpected EOF"},
		{"nothing", "", 0, "", false, "without a response"},
		{"too long", "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\nhi", 200, "", false, "longer than allowed"},
		{"no HTTP", "SSH-2.0-OpenSSH_9.6\r\n\r\n\r\n", 0, "", false, "no status line"},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", 101, "", false, "another protocol"},
	} {
		a, b := net.Pipe()
		_ = a.SetDeadline(time.Now().Add(patience))
		go func() {
			defer b.Close()
			in := bufio.NewReader(b)
			if r, err := http.ReadRequest(in); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(b, row.response)
			}
		}()
		r, err := h1conn.NewClient(a, &http1.Limits{}, 1000).Do("POST", "/", []h1conn.Field{{Name: "Host", Value: "h"}}, []byte("x"))
		a.Close()
		if r.Status != row.status && row.err == "" || string(r.Body) != row.body || r.KeepAlive != row.keepAlive && row.err == "" || (err == nil) != (row.err == "") ||
			err != nil && !strings.Contains(err.Error(), row.err) || r.Unhandled {
			t.Errorf("%s: got %+v, %v; want %d %q, keep-alive %v, error %q", row.name, r, err, row.status, row.body, row.keepAlive, row.err)
		}
	}
}
