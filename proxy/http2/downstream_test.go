package http2

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"

	http1wire "example.com/ferry/protocol/http1"
	wire "example.com/ferry/protocol/http2"
)

func TestRequests(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		r := start(t, setup{loop: c, servers: []string{proxytest.ServeHTTP(t, proxytest.EchoHTTP)}})
		web := client(t)
		for _, size := range []int{0, 1, 1000, 100_000, 3 << 20} {
			want := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
			resp, err := web.Post("http://"+r.addr+"/a?b", "text/plain", bytes.NewReader(want))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes of %d, or others: %v", len(got), size, err)
			}
			if seen := resp.Header.Get("X-Seen"); seen != "POST "+r.addr+" /a?b" || resp.Proto != "HTTP/2.0" || resp.StatusCode != 200 {
				t.Errorf("the server saw %q; %s %d", seen, resp.Proto, resp.StatusCode)
			}
		}
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				want := strings.Repeat(fmt.Sprint(i), 10_000)
				resp, err := web.Post("http://"+r.addr, "text/plain", strings.NewReader(want))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(resp.Body)
				if err != nil || string(got) != want {
					t.Errorf("%d bytes of %d, or others: %v", len(got), len(want), err)
				}
			})
		}
		wg.Wait()
		r.settled(web)
	})
}

// TestHeads sends requests and compares what the server and the client see.
func TestHeads(t *testing.T) {
	server := proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		w.Header().Set("X-Seen", fmt.Sprint(r.Method, " ", r.Host, " ", r.URL, " ", r.ContentLength, " ", h["Cookie"], h["Te"], h["Via"], h["X-Forwarded-For"], h["X-Forwarded-Proto"], h["X-A"]))
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(204)
		case "/304":
			w.Header().Set("Content-Length", "7")
			w.WriteHeader(304)
		case "/103":
			w.Header().Set("Link", "</a>")
			w.WriteHeader(103)
			_, _ = w.Write([]byte("early"))
		default:
			w.Header().Set("Content-Length", "5")
			if r.Method != "HEAD" {
				_, _ = w.Write([]byte("hello"))
			}
		}
	})
	r := start(t, setup{servers: []string{server}, config: Config{HTTPConfig: exchange.HTTPConfig{Via: "test", ForwardedFor: true}}, rules: []route.Rule{{Cluster: "web", Forward: route.Forward{
		Request:  route.Edits{Set: []http1wire.Pair{{Name: "X-A", Value: "set"}}},
		Response: route.Edits{Add: []http1wire.Pair{{Name: "X-B", Value: "added"}}, Remove: []string{"Date"}},
	}}}})
	for _, row := range []struct {
		name, method, path string
		fields             []string
		status             int
		seen, length, body string
	}{
		{"get", "GET", "/a?b=c", []string{"cookie", "a=1", "cookie", "b=2", "te", "trailers", "x-forwarded-for", "9.9.9.9"}, 200, "GET a /a?b=c 0 [a=1; b=2] [trailers] [2 test] [127.0.0.1] [http] [set]", "5", "hello"},
		{"head", "HEAD", "/", nil, 200, "HEAD a / 0 [] [] [2 test] [127.0.0.1] [http] [set]", "5", ""},
		{"empty post", "POST", "/", nil, 200, "POST a / 0 [] [] [2 test] [127.0.0.1] [http] [set]", "5", "hello"},
		{"options", "OPTIONS", "*", nil, 200, "", "0", ""},
		{"204", "GET", "/204", nil, 204, "GET a /204 0 [] [] [2 test] [127.0.0.1] [http] [set]", "", ""},
		{"304", "GET", "/304", nil, 304, "GET a /304 0 [] [] [2 test] [127.0.0.1] [http] [set]", "", ""},
		{"interim", "GET", "/103", nil, 200, "GET a /103 0 [] [] [2 test] [127.0.0.1] [http] [set]", "5", "early"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPeer(t, r.addr)
			_, x := p.request(row.method, row.path, true, row.fields...)
			p.over(x)
			if x.status != row.status || string(x.body) != row.body || string(x.fields.Get("content-length")) != row.length || x.reset != nil {
				t.Errorf("%d %q, length %q, reset %v; want %d %q, %q", x.status, x.body, x.fields.Get("content-length"), x.reset, row.status, row.body, row.length)
			}
			if seen := string(x.fields.Get("x-seen")); seen != row.seen {
				t.Errorf("the server saw %q, want %q", seen, row.seen)
			}
			if string(x.fields.Get("x-b")) != "added" || x.fields.Get("date") != nil || string(x.fields.Get("via")) != "1.1 test" {
				t.Errorf("the client got %v", x.fields)
			}
			if row.path == "/103" && (len(x.interims) != 1 || x.interims[0] != 103) {
				t.Errorf("interim responses %v, want 103", x.interims)
			}
		})
	}
}

// TestLocalResponses: responses of the proxy's own.
func TestLocalResponses(t *testing.T) {
	rules := []route.Rule{
		{Match: route.Match{Path: "/moved"}, Redirect: &route.Redirect{Path: "/there"}},
		{Match: route.Match{Path: "/fixed"}, Respond: &route.Response{Status: 418, Headers: []http1wire.Pair{{Name: "X-Pot", Value: "tea"}}, Body: "short"}},
		{Match: route.Match{Path: "/rare"}, Respond: &route.Response{Status: 200}, RateLimit: &route.RateLimit{RequestsPerSecond: 0.01, Burst: 1}},
		{Match: route.Match{Path: "/dead"}, Cluster: "web"},
	}
	r := start(t, setup{servers: []string{proxytest.DeadAddr(t)}, rules: rules, config: Config{MaxBody: 10}})
	p := newPeer(t, r.addr)
	for _, row := range []struct {
		name, method, path string
		fields             []string
		status             int
		body, field, value string
	}{
		{"redirect", "GET", "/moved?q", nil, 301, "", "location", "/there?q"},
		{"fixed", "GET", "/fixed", nil, 418, "short", "x-pot", "tea"},
		{"fixed, no body", "HEAD", "/fixed", nil, 418, "", "content-length", "5"},
		{"within the limit", "GET", "/rare", nil, 200, "", "content-length", "0"},
		{"rate limit", "GET", "/rare", nil, 429, "429 Too Many Requests\n", "retry-after", "100"},
		{"no route", "GET", "/none", nil, 404, "404 Not Found\n", "content-type", "text/plain"},
		{"no server", "GET", "/dead", nil, 503, "503 Service Unavailable\n", "content-length", "24"},
		{"no server, gRPC", "POST", "/dead", []string{"content-type", "application/grpc+proto"}, 200, "", "grpc-status", "14"},
		{"too large", "POST", "/fixed", []string{"content-length", "11"}, 413, "413 Content Too Large\n", "content-length", "22"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, x := p.request(row.method, row.path, row.name != "too large", row.fields...)
			p.over(x)
			if x.status != row.status || string(x.body) != row.body || string(x.fields.Get(row.field)) != row.value || x.reset != nil && x.reset.Code != wire.NoError {
				t.Errorf("%d %q, %v; want %d %q, %s %q", x.status, x.body, x.fields, row.status, row.body, row.field, row.value)
			}
			s.Release()
		})
	}
	if n := r.refused(traffic.BadRequest); n != 1 {
		t.Errorf("%d bad requests, want 1", n)
	}
}

// TestTrailers: trailers pass in both directions.
func TestTrailers(t *testing.T) {
	server := proxytest.ServeHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "X-S")
		_, _ = w.Write(body)
		w.Header().Set("X-S", "seen "+r.Trailer.Get("X-T"))
	})
	r := start(t, setup{servers: []string{server}})
	p := newPeer(t, r.addr)
	s, x := p.request("POST", "/", false, "trailer", "x-t")
	s.Write([]byte("body"), false)
	e := s.BeginHeaders()
	e.FieldString("x-t", "t")
	e.End(true)
	p.over(x)
	if string(x.body) != "body" || string(x.trailers.Get("x-s")) != "seen t" {
		t.Errorf("%d %q, trailers %v; want the trailer seen t", x.status, x.body, x.trailers)
	}
}

// memory starts a rig whose upstream sides are controlled by the test. do runs a function on the loop.
func memory(t *testing.T, c setup) (r *rig, m *proxytest.Connector, do func(func())) {
	t.Helper()
	m = &proxytest.Connector{TB: t}
	c.loop.Loops, c.connector, c.servers = 1, m, []string{"127.0.0.1:1", "127.0.0.1:2"}
	r = start(t, c)
	return r, m, func(f func()) {
		t.Helper()
		proxytest.OnLoop(t, r.Group.Loops()[0], func() bool { f(); return true })
	}
}

// opened waits until n upstream sides are open, and returns the last one.
func opened(t *testing.T, m *proxytest.Connector, do func(func()), n int) (u *proxytest.Upstream) {
	t.Helper()
	proxytest.Eventually(t, fmt.Sprintf("%d requests reach a server", n), func() bool {
		do(func() {
			if len(m.Opened) >= n {
				u = m.Opened[n-1]
			}
		})
		return u != nil
	})
	return u
}

// TestEarlyResponse: a response that ends before its request is complete leaves, and then the client is told to stop.
func TestEarlyResponse(t *testing.T) {
	r, m, do := memory(t, setup{})
	p := newPeer(t, r.addr)
	s, x := p.request("POST", "/", false)
	s.Write([]byte("a part"), false)
	p.flush()
	u := opened(t, m, do, 1)
	big := bytes.Repeat([]byte("r"), 50_000)
	do(func() {
		u.Respond(&proxytest.ResponseHead{Code: 403, Length: -1})
		u.Data(big)
		u.End(proxytest.Fields{{Name: "X-S", Value: "s"}})
	})
	p.over(x)
	if x.reset != nil {
		t.Errorf("the client is told to stop before it sends more: %v", x.reset)
	}
	s.Write(make([]byte, 50_000), false)
	p.until("RST_STREAM", func() bool { return x.reset != nil })
	if x.status != 403 || !bytes.Equal(x.body, big) || x.trailers == nil || !x.complete || x.reset.Code != wire.NoError {
		t.Errorf("%d, %d bytes, complete %v, reset %v; want all of 403, then NO_ERROR", x.status, len(x.body), x.complete, x.reset)
	}
	// A client that sends no more is reset after some time, and one that ends its request is not.
	s, x = p.request("POST", "/", false)
	_, silent := p.request("POST", "/", false)
	p.flush()
	for n := range 2 {
		u = opened(t, m, do, 2+n)
		do(func() { u.Respond(&proxytest.ResponseHead{Code: 200, Length: 0}); u.End(nil) })
	}
	p.until("the responses", func() bool { return x.complete && silent.complete })
	s.Write([]byte("end"), true)
	p.until("RST_STREAM", func() bool { return silent.reset != nil })
	if x.status != 200 || x.reset != nil || silent.reset.Code != wire.NoError {
		t.Errorf("%d, reset %v and %v", x.status, x.reset, silent.reset)
	}
}

// TestResets: a client's RST_STREAM cancels the attempt, and a server's failure resets the stream.
func TestResets(t *testing.T) {
	r, m, do := memory(t, setup{})
	p := newPeer(t, r.addr)
	s, _ := p.request("GET", "/", true)
	p.flush()
	u := opened(t, m, do, 1)
	s.Reset(wire.Cancel)
	p.flush()
	proxytest.Eventually(t, "the attempt is canceled", func() (is bool) { do(func() { is = u.Canceled }); return is })

	_, x := p.request("GET", "/", true)
	p.flush()
	u = opened(t, m, do, 2)
	do(func() {
		u.Respond(&proxytest.ResponseHead{Code: 200, Length: 10})
		u.Data([]byte("part"))
		u.Fail(exchange.Failure{Cause: route.OnReset, Sent: true})
	})
	p.over(x)
	if x.reset == nil || x.reset.Code != wire.InternalError {
		t.Errorf("a response that broke off: reset %v, complete %v", x.reset, x.complete)
	}
}

// TestWindows: a paused request withholds its own stream's window only, and a client that does not read pauses its own
// response only.
func TestWindows(t *testing.T) {
	r, m, do := memory(t, setup{config: Config{StreamWindow: 20_000, HTTPConfig: exchange.HTTPConfig{BodyRate: -1}}})
	p := newPeer(t, r.addr)
	p.settle()
	slow, _ := p.request("POST", "/slow", false)
	p.flush()
	first := opened(t, m, do, 1)
	do(func() { first.Full = true })
	slow.Write(make([]byte, 30_000), false)
	p.flush()
	proxytest.Eventually(t, "the window is used up", func() (is bool) { do(func() { is = first.Body.Len() == 20_000 }); return is })

	s, x := p.request("POST", "/fast", false)
	s.Write(make([]byte, 100_000), true)
	p.flush()
	second := opened(t, m, do, 2)
	p.until("the other request is whole", func() (is bool) {
		do(func() { is = second.Whole })
		return is
	})
	do(func() { second.Respond(&proxytest.ResponseHead{Code: 200, Length: 0}); second.End(nil) })
	p.over(x)
	do(func() {
		if first.Body.Len() != 20_000 || second.Body.Len() != 100_000 {
			t.Errorf("%d and %d bytes, want 20000 and 100000", first.Body.Len(), second.Body.Len())
		}
		first.Drain()
	})
	p.until("the slow request goes on", func() (is bool) { do(func() { is = first.Body.Len() == 30_000 }); return is })

	p.slow = true
	do(func() {
		first.Respond(&proxytest.ResponseHead{Code: 200, Length: -1})
		for range 40 {
			if !first.CanRespond() {
				return
			}
			first.Data(make([]byte, 10_000))
		}
		t.Error("a client that opens no window does not pause its response")
	})
	s, x = p.request("GET", "/", true)
	p.flush()
	third := opened(t, m, do, 3)
	do(func() { third.Respond(&proxytest.ResponseHead{Code: 204}); third.End(nil) })
	p.over(x)
	s.Release()
	if x.status != 204 {
		t.Errorf("another request gets %d while one response is paused", x.status)
	}
}

// TestRequestsThatWait: a body that arrives while the request waits for a connection is sent when the connection is there,
// and again when the route retries.
func TestRequestsThatWait(t *testing.T) {
	r, m, do := memory(t, setup{rules: []route.Rule{{Cluster: "web", Forward: route.Forward{
		Retry: &route.Retry{On: []route.Cause{route.OnReset}, Idempotent: true},
	}}}})
	do(func() { m.Wait = true })
	p := newPeer(t, r.addr)
	p.settle() // the body follows at once
	s, x := p.request("POST", "/", false, "x-a", "1")
	s.Write(bytes.Repeat([]byte("b"), 40_000), false)
	e := s.BeginHeaders()
	e.FieldString("x-t", "t")
	e.End(true)
	p.flush()
	u := opened(t, m, do, 1)
	time.Sleep(20 * time.Millisecond) // the body may arrive before or after the connection: both must work
	do(u.Connect)
	check := func(u *proxytest.Upstream) {
		t.Helper()
		proxytest.Eventually(t, "the request is whole", func() (is bool) { do(func() { is = u.Whole }); return is })
		if u.Body.Len() != 40_000 || string(u.Trailers.Get("x-t")) != "t" || string(u.Fields.Get("x-a")) != "1" {
			t.Errorf("the server got %d bytes, %v, trailers %v", u.Body.Len(), u.Fields, u.Trailers)
		}
	}
	check(u)
	do(func() { m.Wait = false; u.Fail(exchange.Failure{Cause: route.OnReset, Sent: true}) })
	again := opened(t, m, do, 2)
	check(again)
	do(func() {
		again.Respond(&proxytest.ResponseHead{Code: 200, Length: 2})
		again.Data([]byte("ok"))
		again.End(nil)
	})
	p.over(x)
	if x.status != 200 || string(x.body) != "ok" {
		t.Errorf("%d %q, want 200 ok", x.status, x.body)
	}
	proxytest.Eventually(t, "no memory is counted any more", func() (is bool) {
		do(func() {
			l := r.Group.Loops()[0]
			l.SetQueueMemory(0) // the loop is crowded as soon as a byte is counted
			is = !l.Crowded()
		})
		return is
	})
}

// TestPayloadRoutes: routes are chosen by a field of the body, which arrives in pieces.
func TestPayloadRoutes(t *testing.T) {
	r, m, do := memory(t, setup{rules: []route.Rule{
		{Name: "a", Match: route.Match{Payload: &route.Payload{Format: "json", Where: `kind == "a"`}}, Cluster: "web"},
		{Name: "other", Respond: &route.Response{Status: 200, Body: "other"}},
	}})
	p := newPeer(t, r.addr)
	s, x := p.request("POST", "/", false, "expect", "100-continue")
	p.until("100 Continue", func() bool { return len(x.interims) == 1 })
	s.Write([]byte(`{"kind`), false)
	p.flush()
	s.Write([]byte(`": "a"}`), true)
	p.flush()
	u := opened(t, m, do, 1)
	proxytest.Eventually(t, "the request is whole", func() (is bool) { do(func() { is = u.Whole }); return is })
	if got := u.Body.String(); got != `{"kind": "a"}` {
		t.Errorf("the server got %q", got)
	}
	do(func() { u.Respond(&proxytest.ResponseHead{Code: 204}); u.End(nil) })
	p.over(x)
	for _, body := range []string{`{"kind": "b"}`, "{" + strings.Repeat(" ", 200_000)} {
		s, x = p.request("POST", "/", false)
		s.Write([]byte(body), true)
		p.over(x)
		if string(x.body) != "other" {
			t.Errorf("%d %q, want the other route", x.status, x.body)
		}
		s.Release()
	}
}
