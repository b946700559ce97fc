package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// page writes a file of an error page.
func page(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestErrorPages asks for errors of the proxy and of servers, by each version of HTTP, from servers of each version.
func TestErrorPages(t *testing.T) {
	t.Parallel()
	server := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range map[string]string{
			"Content-Type": "text/plain", "Content-Encoding": "br", "Etag": `"v1"`, "Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT",
			"Content-Security-Policy": "default-src 'self'", "Www-Authenticate": "Basic", "Set-Cookie": "a=b",
		} {
			h.Set(name, value)
		}
		status, _ := strconv.Atoi(r.URL.Path[len(r.URL.Path)-3:])
		w.WriteHeader(status)
		if r.URL.Query().Has("endless") && r.Method != http.MethodHead {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, prose(10<<10)); err != nil {
					return
				}
			}
		}
		_, _ = io.WriteString(w, "of the server")
	})
	front := start(t, &Config{Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "c"}}, Clusters: []upstream.Config{cluster1("c", server)}})
	two := cluster1("two", hostOf(front))
	two.Protocol = upstream.HTTP2
	big := strings.Repeat("x", 64<<10)
	p := start(t, &Config{
		Listeners: []Listener{{
			Address: "127.0.0.1:0", Protocol: HTTP, ReasonHeader: true,
			Routes: []route.Rule{
				{Match: route.Match{Prefix: "/one/"}, Cluster: "one"},
				{Match: route.Match{Prefix: "/two/"}, Cluster: "two"},
				{Match: route.Match{Prefix: "/dead"}, Cluster: "dead"},
			},
			ErrorPages: []exchange.ErrorPage{
				{Statuses: []int{503}, Clusters: []string{"dead"}, File: page(t, "dead.json", `{"dead":true}`)},
				{Statuses: []int{401, 500}, Clusters: []string{"one", "two"}, File: page(t, "own.HTML", "<p>own"), Intercept: true},
				{Statuses: []int{502}, File: page(t, "big.txt", big), Intercept: true},
				{Statuses: []int{404, 503}, File: page(t, "all.html", "<p>all")},
			},
		}},
		Clusters: []upstream.Config{cluster1("one", server), two, cluster1("dead", proxytest.DeadAddr(t))},
	})
	const html, text, server1, server2 = "text/html; charset=utf-8", "text/plain; charset=utf-8", "/one", "/two"
	for version, c := range clientsOf(t) {
		for _, o := range []struct {
			path, kind, body string
			status           int
		}{
			{"/dead", "application/json", `{"dead":true}`, 503},
			{"/none", html, "<p>all", 404},
			{"/none%00", "text/plain", "400 Bad Request\n", 400},
			{server1 + "/401", html, "<p>own", 401},
			{server2 + "/401", html, "<p>own", 401},
			{server1 + "/500?endless", html, "<p>own", 500},
			{server2 + "/500?endless", html, "<p>own", 500},
			{server1 + "/502", text, big, 502},
			{server2 + "/502", text, big, 502},
			{server1 + "/404", "text/plain", "of the server", 404},
			{server2 + "/503", "text/plain", "of the server", 503},
		} {
			for _, method := range []string{"GET", "HEAD", "POST"} {
				name := fmt.Sprintf("%s: %s %s", version, method, o.path)
				req, err := http.NewRequestWithContext(t.Context(), method, "http://"+hostOf(p)+o.path, strings.NewReader("of a client"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := c.Do(req)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				body, length := o.body, int64(len(o.body))
				if method == "HEAD" {
					body = ""
				}
				h := resp.Header
				if err != nil || resp.StatusCode != o.status || h.Get("Content-Type") != o.kind || string(got) != body || resp.ContentLength != length {
					t.Errorf("%s: got %d, Content-Length %d, %v, %.20q, %v", name, resp.StatusCode, resp.ContentLength, h, got, err)
				}
				if o.path == "/dead" && h.Get("X-Ferry-Reason") != "connect_refused" {
					t.Errorf("%s: got %v", name, h)
				}
				if !strings.HasPrefix(o.path, "/one") && !strings.HasPrefix(o.path, "/two") {
					continue
				}
				own := o.body == "of the server"
				if h.Get("Www-Authenticate") == "" || h.Get("Set-Cookie") == "" || h.Get("Content-Security-Policy") == "" ||
					(h.Get("Etag") != "") != own || (h.Get("Last-Modified") != "") != own || (h.Get("Content-Encoding") != "") != own {
					t.Errorf("%s: got %v", name, h)
				}
			}
		}
	}
}

// TestErrorPagesKeepConnections: the connection to a server is used again after a body that was replaced and was short. A body that does not end delays
// neither the page nor the next request.
func TestErrorPagesKeepConnections(t *testing.T) {
	t.Parallel()
	for _, o := range []struct {
		method, path string
		kept         bool
	}{{"HEAD", "/", true}, {"GET", "/none", true}, {"GET", "/length", true}, {"GET", "/chunks", true}, {"POST", "/length", true}, {"GET", "/silent", false}, {"GET", "/long", false}} {
		var conns atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/long" {
				w.Header().Set("Content-Length", "1000000")
			}
			w.WriteHeader(http.StatusNotFound)
			if r.URL.Path != "/none" {
				_, _ = io.WriteString(w, "of the server")
			}
			if r.URL.Path == "/chunks" || !o.kept {
				_ = http.NewResponseController(w).Flush()
			}
			if !o.kept {
				<-r.Context().Done()
			}
		}))
		server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}
		server.Start()
		p := start(t, &Config{
			Loops: 1, Listeners: []Listener{{
				Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "c",
				ErrorPages: []exchange.ErrorPage{{Statuses: []int{404}, File: page(t, "all.html", "<p>all"), Intercept: true}},
			}},
			Clusters: []upstream.Config{cluster1("c", server.Listener.Addr().String())},
		})
		for version, c := range clientsOf(t) {
			conns.Store(0)
			requests := 2
			if o.kept {
				requests = 4 // of which some may fail to be read in time while the machine is busy
			}
			for range requests {
				req, err := http.NewRequestWithContext(t.Context(), o.method, "http://"+hostOf(p)+o.path, strings.NewReader("of a client"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := c.Do(req)
				if err != nil {
					t.Fatalf("%s: %s %s: %v", version, o.method, o.path, err)
				}
				got, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != 404 || string(got) != "<p>all" && o.method != "HEAD" {
					t.Errorf("%s: %s %s: got %d, %q, %v", version, o.method, o.path, resp.StatusCode, got, err)
				}
			}
			if n := int(conns.Load()); n == requests == o.kept {
				t.Errorf("%s: %s %s: %d requests opened %d connections", version, o.method, o.path, requests, n)
			}
		}
		server.Close()
	}
}

// TestErrorPagesOfGRPC: a gRPC client gets a status, no page.
func TestErrorPagesOfGRPC(t *testing.T) {
	t.Parallel()
	server := serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	p := start(t, &Config{
		Listeners: []Listener{{
			Address: "127.0.0.1:0", Protocol: HTTP, Routes: []route.Rule{{Match: route.Match{Path: "/served"}, Cluster: "c"}},
			ErrorPages: []exchange.ErrorPage{{Statuses: []int{404, 503}, File: page(t, "page.html", "<p>"), Intercept: true}},
		}},
		Clusters: []upstream.Config{cluster1("c", server)},
	})
	for _, path := range []string{"/none", "/served"} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+hostOf(p)+path, strings.NewReader("\x00\x00\x00\x00\x00"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/grpc")
		resp, err := clientsOf(t)["HTTP/2"].Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || len(got) > 0 {
			t.Errorf("%s: got %d, %q, %v", path, resp.StatusCode, got, err)
		}
	}
}

// TestErrorPagesReload: a page is that of the last configuration, and what cannot be read is named.
func TestErrorPagesReload(t *testing.T) {
	t.Parallel()
	file, dead := page(t, "page.txt", "first"), proxytest.DeadAddr(t)
	cfg := func(pages ...exchange.ErrorPage) *Config {
		return &Config{
			Loops: 2, Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "c", ErrorPages: pages}},
			Clusters: []upstream.Config{cluster1("c", dead)},
		}
	}
	all := exchange.ErrorPage{Statuses: []int{503}, File: file}
	p := start(t, cfg(all))
	body := func() string {
		return fetchEncoded(t, clientsOf(t)["HTTP/1.1"], "http://"+hostOf(p)+"/", "").body
	}
	if got := body(); got != "first" {
		t.Errorf("got %q", got)
	}
	if err := os.WriteFile(file, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := body(); got != "first" {
		t.Errorf("before the reload: got %q", got)
	}
	change, err := p.Prepare(cfg(all))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := change.String(), "error_pages"; got != want {
		t.Errorf("the change is %q, want %q", got, want)
	}
	change.Commit()
	if got := body(); got != "second" {
		t.Errorf("after the reload: got %q", got)
	}
	for _, o := range []struct {
		change      func(*exchange.ErrorPage)
		field, text string
	}{
		{func(e *exchange.ErrorPage) { e.File += ".none.html" }, "file", "no such file"},
		{func(e *exchange.ErrorPage) { e.File = "page.png" }, "file", ".html"},
		{func(e *exchange.ErrorPage) { e.File = page(t, "big.txt", strings.Repeat("x", 64<<10+1)) }, "file", "at most 65536"},
		{func(e *exchange.ErrorPage) { e.Statuses = nil }, "statuses", "empty"},
		{func(e *exchange.ErrorPage) { e.Statuses = []int{503, 302} }, "statuses[1]", "400 to 599"},
		{func(e *exchange.ErrorPage) { e.Clusters = []string{"c", "none"} }, "clusters[1]", `no cluster "none"`},
	} {
		changed := all
		o.change(&changed)
		err := cfg(all, changed).Check(nil)
		if at := "listeners[0].error_pages[1]." + o.field + ": "; err == nil || !strings.Contains(err.Error(), at) || !strings.Contains(err.Error(), o.text) {
			t.Errorf("%+v: got %v, want %s and %s", changed, err, at, o.text)
		}
	}
	bolt := cfg(all)
	bolt.Listeners[0].Protocol = Bolt
	if err := bolt.Check(nil); err == nil || !strings.Contains(err.Error(), "listeners[0].error_pages: is for HTTP") {
		t.Errorf("with bolt: got %v", err)
	}
}
