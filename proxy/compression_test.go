package proxy

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"example.com/ferry/internal/bytesize"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// hostOf returns the address of the first listener.
func hostOf(p *Proxy) string {
	_, addr, _ := strings.Cut(p.Addresses()[0], "://")
	return addr
}

// prose returns n bytes, at most maxProse, of a text that compresses well.
func prose(n int) string { return longProse()[:n] }

const maxProse = 2 << 20

var longProse = sync.OnceValue(func() string {
	var b []byte
	for i := 0; len(b) < maxProse; i++ {
		b = strconv.AppendInt(append(b, `{"device":"pump-`...), int64(i), 10)
		b = append(strconv.AppendInt(append(b, `","value":`...), int64(i*i), 10), "},"...)
	}
	return string(b)
})

// compressed is a server of responses that are compressed or not, behind a proxy that compresses.
func compressed(t *testing.T, change func(*Listener)) *Proxy {
	server := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.URL.Query() {
			switch name {
			case "size", "status", "chunk", "trailer":
			default:
				w.Header()[http.CanonicalHeaderKey(name)] = values
			}
		}
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		if r.URL.Query().Has("trailer") {
			w.Header().Set("Trailer", "X-Sum")
		} else if !r.URL.Query().Has("chunk") {
			w.Header().Set("Content-Length", strconv.Itoa(size))
		}
		if status, _ := strconv.Atoi(r.URL.Query().Get("status")); status != 0 {
			w.WriteHeader(status)
		}
		if r.URL.Query().Has("chunk") {
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, prose(size))
		if r.URL.Query().Has("trailer") {
			w.Header().Set("X-Sum", "7")
		}
	})
	l := Listener{Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "c", Compression: &route.Compression{}}
	change(&l)
	return start(t, &Config{Listeners: []Listener{l}, Clusters: []upstream.Config{cluster1("c", server)}})
}

// clientsOf has a client of each version of HTTP, which leave encodings alone.
func clientsOf(t *testing.T) map[string]*http.Client {
	t.Helper()
	plain := new(http.Protocols)
	plain.SetUnencryptedHTTP2(true)
	all := map[string]*http.Client{}
	for name, tr := range map[string]*http.Transport{"HTTP/1.1": {DisableCompression: true}, "HTTP/2": {DisableCompression: true, Protocols: plain}} {
		t.Cleanup(tr.CloseIdleConnections)
		all[name] = &http.Client{Transport: tr, Timeout: 20 * time.Second}
	}
	return all
}

// fetched is a response.
type fetched struct {
	*http.Response
	body string // decoded
	wire int    // bytes of the body as they came
}

func fetchEncoded(t *testing.T, c *http.Client, url, accept string) fetched {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		req.Header.Set("Accept-Encoding", accept)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return fetched{resp, decoded(t, resp.Header.Get("Content-Encoding"), data), len(data)}
}

func decoded(t *testing.T, encoding string, data []byte) string {
	t.Helper()
	r := io.Reader(strings.NewReader(string(data)))
	switch encoding {
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = z
	case "zstd":
		z, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", encoding, err)
	}
	return string(out)
}

// TestCompression asks for responses that are compressed, and for such that must pass unchanged.
func TestCompression(t *testing.T) {
	t.Parallel()
	for _, servers := range []string{"http1", "http2"} {
		p := compressed(t, func(*Listener) {})
		if servers == "http2" {
			p = compressedFromHTTP2(t)
		}
		for version, c := range clientsOf(t) {
			for _, o := range []struct{ query, accept, want string }{
				{"size=10240&content-type=application/json", "gzip", "gzip"},
				{"size=10240&content-type=application/json", "gzip, deflate, br, zstd", "zstd"},
				{"size=10240&content-type=application/json", "zstd;q=0.5, gzip;q=0.8", "gzip"},
				{"size=10240&content-type=application/json", "zstd;q=0, gzip;q=0.001", "gzip"},
				{"size=10240&content-type=application/json", "*", "gzip"},
				{"size=10240&content-type=application/json", "gzip;q=0, *", ""},
				{"size=10240&content-type=application/json", "gzip;q=0", ""},
				{"size=10240&content-type=application/json", "gzip;q=0.5, identity", ""},
				{"size=10240&content-type=application/json", "gzip;q=2", ""},
				{"size=10240&content-type=application/json", "br", ""},
				{"size=10240&content-type=application/json", "", ""},
				{"size=10240&content-type=Text/HTML;charset=utf-8", "gzip", "gzip"},
				{"size=300000&content-type=text/plain", "gzip", "gzip"},
				{"size=300000&content-type=text/plain&chunk=1", "zstd", "zstd"},
				{"size=10240&content-type=text/plain&chunk=1&trailer=1", "gzip", "gzip"},
				{"size=200000&content-type=text/plain&trailer=1", "zstd", "zstd"},
				{"size=5&content-type=text/plain&chunk=1", "gzip", "gzip"},
				{"size=10240&content-type=image/png", "gzip", ""},
				{"size=1023&content-type=text/plain", "gzip", ""},
				{"size=10240&content-type=text/plain&content-encoding=br", "gzip", "br"},
				{"size=10240&content-type=text/plain&cache-control=public,%20No-Transform", "gzip", ""},
				{"size=10240&content-type=text/plain&content-digest=sha-256=:x:", "gzip", ""},
				{"size=10240&content-type=text/plain&repr-digest=sha-256=:x:", "gzip", ""},
				{"size=10240&content-type=text/plain&digest=sha-256=x", "gzip", ""},
				{"size=10240&content-type=text/plain&status=206&content-range=bytes%200-10239/20480", "gzip", ""},
				{"size=10240&content-type=text/plain&status=404", "gzip", "gzip"},
			} {
				name := servers + " to " + version + ": " + o.query + " for " + o.accept
				got := fetchEncoded(t, c, "http://"+hostOf(p)+"/?"+o.query+"&etag=%22v1%22&accept-ranges=bytes", o.accept)
				size, _ := strconv.Atoi(got.Request.URL.Query().Get("size"))
				if got.Header.Get("Content-Encoding") != o.want || o.want != "br" && got.body != prose(size) {
					t.Errorf("%s: got encoding %q and %d bytes of content, want %q and %d", name, got.Header.Get("Content-Encoding"), len(got.body), o.want, size)
				}
				changed := o.want == "gzip" || o.want == "zstd"
				etag, ranges := `"v1"`, "bytes"
				if changed {
					etag, ranges = `W/"v1"`, ""
				}
				if got.Header.Get("Etag") != etag || got.Header.Get("Accept-Ranges") != ranges {
					t.Errorf("%s: got ETag %s and Accept-Ranges %q, want %s and %q", name, got.Header.Get("Etag"), got.Header.Get("Accept-Ranges"), etag, ranges)
				}
				if changed && (got.ContentLength >= 0 || got.Header.Get("Vary") != "Accept-Encoding" || size > 1000 && got.wire > size/2) {
					t.Errorf("%s: got Content-Length %d, Vary %q and %d bytes", name, got.ContentLength, got.Header.Get("Vary"), got.wire)
				}
				if !changed && !strings.Contains(o.query, "chunk") && got.ContentLength != int64(size) {
					t.Errorf("%s: got Content-Length %d, want %d", name, got.ContentLength, size)
				}
				if strings.Contains(o.query, "trailer") && got.Trailer.Get("X-Sum") != "7" {
					t.Errorf("%s: got trailers %v", name, got.Trailer)
				}
			}
			const part = "status=206&size=100&content-type="
			get := "http://" + hostOf(p) + "/?etag=%22v1%22&accept-ranges=bytes&"
			for _, o := range []struct{ method, query, accept, known, encoding, etag, vary string }{
				{"HEAD", "size=10240&content-type=text/plain", "gzip", "", "gzip", `W/"v1"`, "Accept-Encoding"},
				{"HEAD", "size=10240&content-type=text/plain", "", "", "", `"v1"`, "Accept-Encoding"},
				{"HEAD", "size=10240&content-type=image/png", "gzip", "", "", `"v1"`, ""},
				{"GET", "status=204&content-type=text/plain", "gzip", "", "", `"v1"`, ""},
				{"GET", "status=304", "gzip", `"v0", W/"v1"`, "", `W/"v1"`, "Accept-Encoding"},
				{"GET", "status=304", "", `W/"v1"`, "", `"v1"`, "Accept-Encoding"},
				{"GET", "status=304", "gzip", `"v1", W/"v2"`, "", `"v1"`, "Accept-Encoding"},
				{"GET", "status=304&cache-control=no-transform", "gzip", `W/"v1"`, "", `"v1"`, ""},
				{"GET", part + "text/plain&content-range=bytes%200-99/20480", "gzip", "", "", `"v1"`, "Accept-Encoding"},
				{"GET", part + "text/plain&content-range=bytes%200-99/20480", "", "", "", `"v1"`, "Accept-Encoding"},
				{"GET", part + "text/plain&content-range=bytes%200-99/*", "gzip", "", "", `"v1"`, "Accept-Encoding"},
				{"GET", part + "multipart/byteranges;boundary=x", "gzip", "", "", `"v1"`, "Accept-Encoding"},
				{"GET", part + "text/plain&content-range=bytes%200-99/1023", "gzip", "", "", `"v1"`, ""},
				{"GET", part + "image/png&content-range=bytes%200-99/20480", "gzip", "", "", `"v1"`, ""},
				{"GET", part + "text/plain&content-range=bytes%200-99/20480&cache-control=no-transform", "gzip", "", "", `"v1"`, ""},
			} {
				req, err := http.NewRequestWithContext(t.Context(), o.method, get+o.query, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				for name, value := range map[string]string{"Accept-Encoding": o.accept, "If-None-Match": o.known} {
					if value != "" {
						req.Header.Set(name, value)
					}
				}
				got, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = got.Body.Close()
				length := int64(-1)
				if o.method == "HEAD" && o.encoding == "" {
					length = 10240
				}
				h := got.Header
				if h.Get("Content-Encoding") != o.encoding || h.Get("Etag") != o.etag || h.Get("Vary") != o.vary || o.method == "HEAD" && got.ContentLength != length {
					t.Errorf("%s to %s: %+v: got Content-Length %d, %v", servers, version, o, got.ContentLength, h)
				}
			}
			// A cache has to know that another client gets another body.
			if got := fetchEncoded(t, c, "http://"+hostOf(p)+"/?size=10240&content-type=text/plain", "br"); got.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s to %s: unchanged for this client: got Vary %q", servers, version, got.Header.Get("Vary"))
			}
			if got := fetchEncoded(t, c, "http://"+hostOf(p)+"/?size=10240&content-type=text/plain&vary=Origin,%20accept-encoding", "gzip"); len(got.Header["Vary"]) != 1 {
				t.Errorf("%s to %s: got Vary %q", servers, version, got.Header["Vary"])
			}
		}
	}
}

// compressedFromHTTP2 is compressed with a server of HTTP/2.
func compressedFromHTTP2(t *testing.T) *Proxy {
	t.Helper()
	first := compressed(t, func(l *Listener) { l.Compression = nil })
	front := cluster1("c", hostOf(first))
	front.Protocol = "http2"
	return start(t, &Config{Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "c", Compression: &route.Compression{}}}, Clusters: []upstream.Config{front}})
}

// TestCompressionOfRoutes holds that a route's compression replaces the listener's, and types and sizes are obeyed.
func TestCompressionOfRoutes(t *testing.T) {
	t.Parallel()
	p := compressed(t, func(l *Listener) {
		l.Compression, l.Cluster = &route.Compression{Types: []string{"text/css"}, MinSize: 20 << 10}, ""
		l.Routes = []route.Rule{
			{Match: route.Match{Prefix: "/off"}, Cluster: "c", Compression: &route.Compression{Off: true}},
			{Match: route.Match{Prefix: "/own"}, Cluster: "c", Compression: &route.Compression{Types: []string{"image/*"}, MinSize: 1}},
			{Cluster: "c"},
		}
	})
	c := clientsOf(t)["HTTP/1.1"]
	for _, o := range []struct{ path, want string }{
		{"/?size=20480&content-type=text/css", "gzip"},
		{"/?size=20479&content-type=text/css", ""},
		{"/?size=20480&content-type=text/html", ""},
		{"/off?size=20480&content-type=text/css", ""},
		{"/own?size=20480&content-type=text/css", ""},
		{"/own?size=200&content-type=image/bmp", "gzip"},
	} {
		if got := fetchEncoded(t, c, "http://"+hostOf(p)+o.path, "gzip"); got.Header.Get("Content-Encoding") != o.want {
			t.Errorf("%s: got encoding %q, want %q", o.path, got.Header.Get("Content-Encoding"), o.want)
		}
	}
	for _, wrong := range []route.Compression{{Types: []string{"html"}}, {Types: []string{"application/grpc"}}, {Types: []string{"*/*"}}, {MinSize: bytesize.Size(-1)}} {
		bad := &Config{Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "c", Compression: &wrong}}, Clusters: []upstream.Config{cluster1("c", "127.0.0.1:1")}}
		if err := bad.Check(nil); err == nil || !strings.Contains(err.Error(), "listeners[0].compression.") {
			t.Errorf("%+v: got %v", wrong, err)
		}
	}
}

// TestCompressedEvents holds that each event of a stream arrives before the next one is sent.
func TestCompressedEvents(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	server := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
		}
	})
	p := start(t, &Config{Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "c", Compression: &route.Compression{}}}, Clusters: []upstream.Config{cluster1("c", server)}})
	for version, c := range clientsOf(t) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		req, err := http.NewRequestWithContext(ctx, "GET", "http://"+hostOf(p)+"/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "gzip")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		events := bufio.NewReader(z)
		for i := range 3 {
			if line, err := events.ReadString('\n'); err != nil || line != fmt.Sprintf("data: %d\n", i) {
				t.Fatalf("%s: event %d: got %q, %v", version, i, line, err)
			}
			_, _ = events.ReadString('\n')
			next <- struct{}{}
		}
		if _, err := events.ReadByte(); err != io.EOF {
			t.Errorf("%s: after the last event: %v", version, err)
		}
		resp.Body.Close()
		cancel()
	}
}

// TestCompressedSlowClients holds that clients that do not read keep no encoder for ever, that a client which reads late gets all, and that other
// clients of the loop are served meanwhile.
func TestCompressedSlowClients(t *testing.T) {
	t.Parallel()
	const size = maxProse
	p := compressed(t, func(*Listener) {})
	var slow []net.Conn
	for range 5 {
		c, err := net.Dial("tcp", hostOf(p))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /?size=%d&content-type=text/plain HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n", size)
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		slow = append(slow, c)
	}
	quick := clientsOf(t)["HTTP/2"]
	if got := fetchEncoded(t, quick, "http://"+hostOf(p)+"/?size=10240&content-type=text/plain", "zstd"); got.body != prose(10240) {
		t.Errorf("beside slow clients: got %d bytes", len(got.body))
	}
	slow[0].Close() // in the middle of its response
	_ = slow[1].SetDeadline(time.Now().Add(time.Minute))
	resp, err := http.ReadResponse(bufio.NewReader(slow[1]), nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := decoded(t, "gzip", data); got != prose(size) {
		t.Errorf("a client that reads late: got %d bytes, want %d", len(got), size)
	}
}
