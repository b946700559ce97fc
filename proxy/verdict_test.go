package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/proxy/http2"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// received is what a server got of a request.
type received struct {
	method, target, host string
	fields               http.Header
}

// versions is a proxy between clients and a server of each version of HTTP. It notes what the server gets.
type versions struct {
	proxy *Proxy
	mu    sync.Mutex
	got   []received
}

// startVersions starts a proxy with two listeners: all requests of the first go by HTTP/1.1, those of the second by HTTP/2. change changes them.
func startVersions(t *testing.T, change func(*Listener)) *versions {
	v := &versions{}
	server := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // the request was not whole
		}
		all := r.Header.Clone()
		for name, values := range r.Trailer {
			all["Trailer-"+name] = values
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.got = append(v.got, received{r.Method, r.RequestURI, r.Host, all})
	})
	cfg := &Config{Clusters: []upstream.Config{cluster1("http1", server), cluster1("http2", server)}}
	cfg.Clusters[1].Protocol = upstream.HTTP2
	for _, c := range cfg.Clusters {
		l := Listener{Name: c.Name, Address: "127.0.0.1:0", Protocol: HTTP, Cluster: c.Name}
		change(&l)
		cfg.Listeners = append(cfg.Listeners, l)
	}
	v.proxy = start(t, cfg)
	return v
}

// oddRequest is a request as a client sends it.
type oddRequest struct {
	method, target, host string
	fields               []string // name, value, name, value; lower case
	trailers             []string // behind a body
}

// send sends r by one version of HTTP. It returns the status, 0 if the request was refused without one, and what the server got, nil if it got nothing.
func (v *versions) send(t *testing.T, version, listener int, r oddRequest) (status int, got *received) {
	t.Helper()
	v.mu.Lock()
	v.got = nil
	v.mu.Unlock()
	c, err := net.Dial("tcp", at(v.proxy, listener))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if version == 1 {
		text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.target, r.host)
		for i := 0; i < len(r.fields); i += 2 {
			text += r.fields[i] + ": " + r.fields[i+1] + "\r\n"
		}
		if r.trailers != nil {
			text += "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
			for i := 0; i < len(r.trailers); i += 2 {
				text += r.trailers[i] + ": " + r.trailers[i+1] + "\r\n"
			}
		}
		_, _ = io.WriteString(c, text+"\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			status = resp.StatusCode
		}
	} else {
		f := newFrames(t, c)
		f.head(1, r.trailers == nil, append([]string{":method", r.method, ":scheme", "http", ":authority", r.host, ":path", r.target}, r.fields...)...)
		if r.trailers != nil {
			_ = f.WriteData(1, false, []byte("x"))
			f.head(1, true, r.trailers...)
		}
		text, _ := f.status(1)
		_, _ = fmt.Sscan(text, &status)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.got) > 0 {
		got = &v.got[0]
	}
	return status, got
}

// TestOneVerdict sends each odd head by each version of HTTP to a server of each. All four have the verdict of the row: refused, or passed on with the
// target and the fields that it names.
func TestOneVerdict(t *testing.T) {
	t.Parallel()
	v := startVersions(t, func(l *Listener) { l.HTTP1.ForwardedFor, l.HTTP1.Limits.MaxHead = true, 128<<10 })
	get := func(target string, fields ...string) oddRequest { return oddRequest{"GET", target, "a", fields, nil} }
	host := func(host string) oddRequest { return oddRequest{"GET", "/", host, nil, nil} }
	trailer := func(name string) oddRequest { return oddRequest{"POST", "/", "a", nil, []string{name, "1"}} }
	for _, row := range []struct {
		name    string
		request oddRequest
		target  string   // that the server gets; empty: the request is refused
		without []string // fields that the server does not get
		with    []string // name, value, name, value that it gets
	}{
		{"plain", get("/a?b=c"), "/a?b=c", nil, nil},
		{"an escape that is no hex", get("/%zz"), "", nil, nil},
		{"an escape that ends early", get("/a%2"), "", nil, nil},
		{"a zero byte", get("/a%00b"), "", nil, nil},
		{"a quotation mark", get(`/a"b`), "", nil, nil},
		{"an angle bracket", get("/a<b"), "", nil, nil},
		{"a backslash", get(`/a\b`), "", nil, nil},
		{"a quotation mark in the query", get(`/a?b="`), "", nil, nil},
		{"a percent sign in the query", get("/a?b=%zz"), "/a?b=%zz", nil, nil},
		{"dot segments in the query", get("/a?b=/../c"), "/a?b=/../c", nil, nil},
		{"dot segments", get("/a/./b/../c"), "/a/c", nil, nil},
		{"escaped dot segments", get("/a/%2e%2E/c"), "/c", nil, nil},
		{"above the root", get("/../a"), "", nil, nil},
		{"above the root in the second reading", get("/a%2f..%2f..%2fb"), "", nil, nil},
		{"a dot segment with a parameter", get("/a/..;b/c"), "", nil, nil},
		{"an escaped letter", get("/%61"), "/a", nil, nil},
		{"an escaped percent sign", get("/%2561"), "/%2561", nil, nil},
		{"an escaped slash", get("/@scope%2fpkg"), "/@scope%2fpkg", nil, nil},
		{"two slashes", get("/a//b"), "/a//b", nil, nil},
		{"a port that is too large", host("a:99999"), "", nil, nil},
		{"a port that is no number", host("a:b"), "", nil, nil},
		{"user information", host("u@a"), "", nil, nil},
		{"a zone", host("[fe80::1%25eth0]"), "", nil, nil},
		{"no address in brackets", host("[x]"), "", nil, nil},
		{"0x7f in a value", get("/", "x-a", "b\x7f"), "", nil, nil},
		{"a zero byte in a value", get("/", "x-a", "b\x00"), "", nil, nil},
		{"an upper byte in a value", get("/", "x-a", "b\xff"), "/", nil, []string{"x-a", "b\xff"}},
		{"httpoxy", get("/", "proxy", "http://evil", "x-a", "b"), "/", []string{"proxy"}, []string{"x-a", "b"}},
		{"credentials for the proxy", get("/", "proxy-authorization", "Basic QQ=="), "/", []string{"proxy-authorization"}, nil},
		{"an invented address", get("/", "x-forwarded-for", "10.9.8.7"), "/", nil, []string{"x-forwarded-for", "127.0.0.1"}},
		{"underscores", get("/", "x_forwarded_for", "10.9.8.7", "x_forwarded_client_cert", "Hash=0", "transfer_encoding", "chunked", "my_own", "c"), "/", []string{"x_forwarded_for", "x_forwarded_client_cert", "transfer_encoding"}, []string{"my_own", "c"}},
		{"other spellings", get("/", "x.forwarded!for", "10.9.8.7"), "/", []string{"x.forwarded!for"}, nil},
		{"two keys of a WebSocket", get("/", "sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-key", "AQIDBAUGBwgJCgsMDQ4PEA=="), "", nil, nil},
		{"the last hop", oddRequest{"OPTIONS", "/a", "a", []string{"max-forwards", "0"}, nil}, "", nil, nil},
		{"a hop", oddRequest{"OPTIONS", "/a", "a", []string{"max-forwards", "7"}, nil}, "/a", nil, []string{"max-forwards", "6"}},
		{"hops of another method", get("/", "max-forwards", "7"), "/", nil, []string{"max-forwards", "7"}},
		{"a trailer", oddRequest{"POST", "/", "a", []string{"trailer", "x-sum"}, []string{"x-sum", "1"}}, "/", nil, []string{"trailer-x-sum", "1"}},
		{"an invented address in trailers", trailer("x-forwarded-for"), "", nil, nil},
		{"authorization in trailers", trailer("authorization"), "", nil, nil},
		{"an address with underscores in trailers", trailer("x_forwarded_for"), "", nil, nil},
		{"a content type in trailers", trailer("content-type"), "", nil, nil},
		{"a condition in trailers", trailer("if-match"), "", nil, nil},
		{"a range in trailers", trailer("range"), "", nil, nil},
		{"max-forwards in trailers", trailer("max-forwards"), "", nil, nil},
		{"pragma in trailers", trailer("pragma"), "", nil, nil},
		{"www-authenticate in trailers", trailer("www-authenticate"), "", nil, nil},
		{"expect in trailers", trailer("expect"), "", nil, nil},
	} {
		for version := 1; version <= 2; version++ {
			for server := range 2 {
				status, got := v.send(t, version, server, row.request)
				where := fmt.Sprintf("%s, HTTP/%d to HTTP/%d", row.name, version, server+1)
				switch {
				case row.target == "" && (got != nil || status == 502 || status == 200 && row.request.method == "GET"):
					t.Errorf("%s: status %d, the server got %+v; want the request refused", where, status, got)
				case row.target == "":
				case got == nil || status != 200:
					t.Errorf("%s: status %d, the server got %+v; want the request passed on", where, status, got)
				case got.target != row.target:
					t.Errorf("%s: the server got %s, want %s", where, got.target, row.target)
				default:
					for _, name := range row.without {
						for each := range got.fields {
							if strings.EqualFold(each, name) {
								t.Errorf("%s: the server got %s: %q", where, each, got.fields[each])
							}
						}
					}
					for i := 0; i < len(row.with); i += 2 {
						found := slices.Concat(got.fields[http.CanonicalHeaderKey(row.with[i])], got.fields[row.with[i]])
						if len(found) == 0 || found[0] != row.with[i+1] {
							t.Errorf("%s: the server got %s: %q, want %q", where, row.with[i], found, row.with[i+1])
						}
					}
				}
			}
		}
	}
	for _, c := range v.proxy.Snapshot().Clusters {
		for _, e := range c.Endpoints {
			for o, n := range e.Outcomes {
				if upstream.Outcome(o) != upstream.Success && upstream.Outcome(o) != upstream.Canceled && n > 0 {
					t.Errorf("%d attempts at the server of %s ended with %s, which no client may bring about", n, c.Name, upstream.Outcome(o))
				}
			}
		}
	}
}

// TestPathsOfGuards: a route guards a prefix, and the server reads paths in one way or the other. No way of writing the path leads past the guard, and paths
// that no rule tells apart pass.
func TestPathsOfGuards(t *testing.T) {
	t.Parallel()
	guard := func(l *Listener) {
		rewrite := route.Rule{Match: route.Match{Prefix: "/api"}, Cluster: l.Cluster}
		rewrite.Forward.Rewrite.Prefix = "/v2/public/"
		segment := route.Rule{Match: route.Match{SegmentPrefix: "/seg"}, Cluster: l.Cluster}
		segment.Forward.Rewrite.Prefix = "/v2/public"
		regex := route.Rule{Match: route.Match{Prefix: "/users"}, Cluster: l.Cluster}
		regex.Forward.Rewrite.Regex, regex.Forward.Rewrite.Replacement = "^/users/([^/]*)/show$", "/people/$1"
		l.Routes = []route.Rule{
			{Match: route.Match{SegmentPrefix: "/admin"}, Respond: &route.Response{Status: 403}},
			{Match: route.Match{Prefix: "/raw"}, Path: route.AsIs, Cluster: l.Cluster},
			rewrite,
			segment,
			regex,
			{Cluster: l.Cluster},
		}
		l.Cluster = ""
	}
	v := startVersions(t, guard)
	for _, row := range []struct {
		path   string
		status int
		target string // that the server gets
	}{
		{"/admin/x", 403, ""},
		{"/%61dmin/x", 403, ""},
		{"/a/../admin", 403, ""},
		{"/a/%2e%2e/admin", 403, ""},
		{"/./admin/x", 403, ""},
		{"/adm%69n", 403, ""},
		{"//admin/x", 400, ""},
		{"/admin%2fx", 400, ""},
		{"/admin%5cx", 400, ""},
		{"/a%2f..%2fadmin", 400, ""},
		{"/x/%2f../admin", 400, ""},
		{"/admin;a=b/x", 200, "/admin;a=b/x"},
		{"/administrator", 200, "/administrator"},
		{"/@scope%2fpkg", 200, "/@scope%2fpkg"},
		{"/projects/a%2Fb/x%20y", 200, "/projects/a%2Fb/x%20y"},
		{"/a//b", 200, "/a//b"},
		{"/raw/%7euser//%2e", 200, "/raw/%7euser//%2e"},
		{"/raw/../admin", 403, ""},
		{"/raw//../admin", 400, ""},
		{"/raw/%2f/../admin", 400, ""},
		{"/raw/a%2fb/../admin", 400, ""},
		{"/raw/%2e%2e/admin", 403, ""},
		{"/api/x", 200, "/v2/public/x"},
		{"/api/a%2fb", 200, "/v2/public/a%2fb"},
		{"/api../private", 400, ""},
		{"/api..%2fprivate", 400, ""},
		{"/api/../private", 200, "/private"},
		{"/api/../../private", 400, ""},
		{"/api%2f..%2fprivate", 400, ""},
		{"/seg/x/../y", 200, "/v2/public/y"},
		{"/seg%2fx", 400, ""},
		{"/users/a/show", 200, "/people/a"},
		{"/users/a%2fb/show", 400, ""},
	} {
		for version := 1; version <= 2; version++ {
			for server := range 2 {
				status, got := v.send(t, version, server, oddRequest{"GET", row.path, "a", nil, nil})
				target := ""
				if got != nil {
					target = got.target
				}
				if status != row.status || target != row.target {
					t.Errorf("%s, HTTP/%d to HTTP/%d: status %d, the server got %q; want %d and %q", row.path, version, server+1, status, target, row.status, row.target)
				}
			}
		}
	}
	asIs := startVersions(t, func(l *Listener) { l.Path = route.AsIs })
	if status, got := asIs.send(t, 1, 0, oddRequest{"GET", "/a/./%61", "a", nil, nil}); status != 200 || got == nil || got.target != "/a/./%61" {
		t.Errorf("path: as-is of a listener: status %d, the server got %+v", status, got)
	}
}

// TestRepeatedNamesOfGuards: routes are told apart by a header field and a parameter. Of several with one name, servers use the first, the last or all.
// No order leads past the guard; what all of them agree on passes. More routes than an index needs are no exception.
func TestRepeatedNamesOfGuards(t *testing.T) {
	t.Parallel()
	v := startVersions(t, func(l *Listener) {
		denied := &route.Response{Status: 403}
		l.Routes = []route.Rule{
			{Match: route.Match{Headers: []route.Header{{Name: "X-Role", Value: "admin"}}}, Respond: denied},
			{Match: route.Match{Query: []route.Parameter{{Name: "role", Value: "admin"}}}, Respond: denied},
		}
		for i := range 20 {
			l.Routes = append(l.Routes, route.Rule{Match: route.Match{Headers: []route.Header{{Name: "x-tenant", Value: fmt.Sprint("t", i)}}}, Respond: denied})
		}
		l.Routes, l.Cluster = append(l.Routes, route.Rule{Cluster: l.Cluster}), ""
	})
	for _, row := range []struct {
		target string
		fields []string
		status int
	}{
		{"/", []string{"x-role", "user"}, 200},
		{"/", []string{"x-role", "admin"}, 403},
		{"/", []string{"x-role", "user", "x-role", "admin"}, 400},
		{"/", []string{"x-role", "admin", "x-role", "user"}, 400},
		{"/", []string{"x-role", "admin", "x-role", "admin"}, 403},
		{"/", []string{"x-role", "user", "x-role", "guest"}, 200},
		{"/", []string{"x-tenant", "none", "x-tenant", "t7"}, 400},
		{"/", []string{"x-tenant", "none", "x-tenant", "other"}, 200},
		{"/?role=user", nil, 200},
		{"/?role=user&role=admin", nil, 400},
		{"/?role=admin&a=b&r%6fle=user", nil, 400},
		{"/?role=admin&role=admin", nil, 403},
		{"/?role=user&role=guest", nil, 200},
	} {
		for version := 1; version <= 2; version++ {
			if status, _ := v.send(t, version, 0, oddRequest{"GET", row.target, "a", row.fields, nil}); status != row.status {
				t.Errorf("%s %q by HTTP/%d: status %d, want %d", row.target, row.fields, version, status, row.status)
			}
		}
	}
}

// TestHeadsBeyondTheServersLimit: a client of HTTP/1.1 sends a head that the proxy accepts and the next one, a server of HTTP/2, does not. The client gets 431.
// Requests of others on the connection go on.
func TestHeadsBeyondTheServersLimit(t *testing.T) {
	t.Parallel()
	arrived, respond := make(chan bool, 1), make(chan bool)
	server := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/other" {
			arrived <- true
			<-respond
		}
	})
	second := start(t, &Config{
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP2, Cluster: "web", HTTP2: http2.Config{MaxHeader: 20 << 10}}},
		Clusters:  []upstream.Config{cluster1("web", server)},
	})
	next := cluster1("next", at(second, 0))
	next.Protocol = upstream.HTTP2
	first := run(t, &Config{
		Loops:     1,
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "next"}},
		Clusters:  []upstream.Config{next},
	})
	large := func(bytes int) int {
		c, err := net.Dial("tcp", at(first, 0))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		head := "GET / HTTP/1.1\r\nHost: a\r\n"
		for i := 0; len(head)+600 < bytes; i++ {
			head += fmt.Sprintf("x-%03d: %s\r\n", i, strings.Repeat("v", 500))
		}
		_, _ = io.WriteString(c, head+"\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	if status := large(60 << 10); status != 431 { // the first request: the server's limit is not known yet
		t.Errorf("a head of 60 KiB on a new connection: status %d, want 431", status)
	}
	other := make(chan string, 1)
	go func() {
		resp, err := http.Post("http://"+at(first, 0)+"/other", "text/plain", strings.NewReader("pay"))
		if err != nil {
			other <- err.Error()
			return
		}
		resp.Body.Close()
		other <- resp.Status
	}()
	<-arrived
	for _, row := range []struct{ bytes, status int }{{1 << 10, 200}, {16 << 10, 200}, {21 << 10, 431}, {60 << 10, 431}} {
		if status := large(row.bytes); status != row.status {
			t.Errorf("a head of %d bytes: status %d, want %d", row.bytes, status, row.status)
		}
	}
	respond <- true
	if got := <-other; got != "200 OK" {
		t.Errorf("the request of another client: %s, want 200 OK", got)
	}
	if abused := second.Snapshot().Traffic.Listeners[0].Abused; len(abused) > 0 {
		for why, n := range abused {
			if n > 0 {
				t.Errorf("the second proxy counts %d of %v", n, why)
			}
		}
	}
	for _, e := range first.Snapshot().Clusters[0].Endpoints {
		if e.Outcomes[upstream.Failure]+e.Outcomes[upstream.Reset] > 0 {
			t.Errorf("the endpoint has failed: %v", e.Outcomes)
		}
	}
}

// TestTrailersBeyondTheServersLimit: trailers that a server of HTTP/2 might not accept get 431, and its connection stays.
func TestTrailersBeyondTheServersLimit(t *testing.T) {
	t.Parallel()
	v := startVersions(t, func(*Listener) {})
	for version := 1; version <= 2; version++ {
		for server := range 2 {
			trailers := []string{"x-a", strings.Repeat("v", 12<<10)}
			if status, got := v.send(t, version, server, oddRequest{"POST", "/", "a", nil, trailers}); status != 431 || got != nil {
				t.Errorf("HTTP/%d to HTTP/%d: status %d, the server got %v; want 431", version, server+1, status, got)
			}
			if status, got := v.send(t, version, server, oddRequest{"POST", "/", "a", nil, []string{"x-a", "v"}}); status != 200 || got == nil {
				t.Errorf("HTTP/%d to HTTP/%d: small trailers: status %d", version, server+1, status)
			}
		}
	}
}
