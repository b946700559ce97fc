package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// rawHTTP starts a server of HTTP/1.1 that responds to each request with response, once it has all of it, which ends in end. sent has what it got.
func rawHTTP(t *testing.T, end, response string) (addr string, sent chan string) {
	sent = make(chan string, 16)
	return serve(t, func(c net.Conn) {
		var got []byte
		b := make([]byte, 4096)
		for {
			n, err := c.Read(b)
			if got = append(got, b[:n]...); strings.HasSuffix(string(got), end) {
				sent <- string(got)
				got = got[:0]
				_, _ = io.WriteString(c, response)
			}
			if err != nil {
				return
			}
		}
	}), sent
}

// exchangeRaw sends request to listener i and returns what comes until want is there, or the connection ends.
func exchangeRaw(t *testing.T, p *Proxy, i int, request, want string) string {
	t.Helper()
	c, err := net.Dial("tcp", at(p, i))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(c, request)
	var got []byte
	b := make([]byte, 4096)
	for {
		n, err := c.Read(b)
		got = append(got, b[:n]...)
		if err != nil || strings.Contains(string(got), want) {
			return string(got)
		}
	}
}

// TestChunkExtensionsStay: the extensions of chunks are meant for one connection. They pass neither to the server, nor to the client, nor in a request that is
// sent again.
func TestChunkExtensionsStay(t *testing.T) {
	t.Parallel()
	const end = "0\r\n\r\n"
	head := "Transfer-Encoding: chunked\r\n\r\n"
	chunks := "5;\r\nhello\r\n5;bad[=x\r\nworld\r\n1;\xff=1\r\n!\r\n0;last=\"a;b\"\r\n\r\n"
	plain := "5\r\nhello\r\n5\r\nworld\r\n1\r\n!\r\n" + end
	addr, sent := rawHTTP(t, end, "HTTP/1.1 200 OK\r\n"+head+chunks)
	broken := serve(t, func(c net.Conn) { // it reads a request and leaves
		_, _ = bufio.NewReader(c).ReadString('!')
	})
	again := cluster1("again", broken, addr)
	rule := route.Rule{Cluster: "again"}
	rule.Forward.Retry = &route.Retry{On: []route.Cause{route.OnReset}, Idempotent: true, Attempts: 5}
	p := start(t, &Config{
		Listeners: []Listener{
			{Name: "once", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"},
			{Name: "again", Address: "127.0.0.1:0", Protocol: HTTP1, Routes: []route.Rule{rule}},
		},
		Clusters: []upstream.Config{cluster1("web", addr), again},
	})
	for i := range p.Addresses() {
		for range 4 {
			got := exchangeRaw(t, p, i, "POST / HTTP/1.1\r\nHost: a\r\n"+head+chunks, end)
			if _, body, _ := strings.Cut(got, "\r\n\r\n"); body != plain {
				t.Errorf("listener %d: the client got %q, want %q", i, got, plain)
			}
			if _, body, _ := strings.Cut(<-sent, "\r\n\r\n"); body != plain {
				t.Errorf("listener %d: the server got %q, want %q", i, body, plain)
			}
		}
	}
}

// TestDateOfResponses: a response without Date gets one. The Date of a server stays, and a route can remove it.
func TestDateOfResponses(t *testing.T) {
	t.Parallel()
	without, _ := rawHTTP(t, "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	with, _ := rawHTTP(t, "\r\n\r\n", "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n")
	removed := route.Rule{Cluster: "without"}
	removed.Forward.Response.Remove = []string{"Date"}
	p := start(t, &Config{
		Listeners: []Listener{
			{Name: "without", Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "without"},
			{Name: "with", Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "with"},
			{Name: "removed", Address: "127.0.0.1:0", Protocol: HTTP, Routes: []route.Rule{removed}},
		},
		Clusters: []upstream.Config{cluster1("without", without), cluster1("with", with)},
	})
	for version := 1; version <= 2; version++ {
		tr := &http.Transport{Protocols: new(http.Protocols)}
		tr.Protocols.SetHTTP1(version == 1)
		tr.Protocols.SetUnencryptedHTTP2(version == 2)
		defer tr.CloseIdleConnections()
		date := func(i int) []string {
			resp, err := (&http.Client{Transport: tr, Timeout: time.Minute}).Get("http://" + at(p, i) + "/")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.Header.Values("Date")
		}
		if got := date(0); len(got) != 1 {
			t.Errorf("HTTP/%d, no Date of the server: %q, want one", version, got)
		} else if at, err := http.ParseTime(got[0]); err != nil || time.Since(at).Abs() > time.Hour {
			t.Errorf("HTTP/%d, no Date of the server: %q, %v; want the time", version, got, err)
		}
		if got := date(1); len(got) != 1 || !strings.Contains(got[0], "1970") {
			t.Errorf("HTTP/%d: %q, want the Date of the server", version, got)
		}
		if got := date(2); len(got) != 0 {
			t.Errorf("HTTP/%d, the route removes Date: %q", version, got)
		}
	}
}

// TestBodyThatBeginsBroken: the body of a response is malformed from its first byte. Nothing has gone to the client yet, so it gets 502.
func TestBodyThatBeginsBroken(t *testing.T) {
	t.Parallel()
	for _, chunk := range []string{"zz\r\n", "-1\r\n", "\r\n", "5 \r\nhello\r\n", "ffffffffffffffffff\r\n"} {
		addr, _ := rawHTTP(t, "\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk)
		p := start(t, &Config{
			Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "web"}},
			Clusters:  []upstream.Config{cluster1("web", addr)},
		})
		if got := exchangeRaw(t, p, 0, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "Bad Gateway\n"); !strings.HasPrefix(got, "HTTP/1.1 502 ") {
			t.Errorf("chunk %q: the client of HTTP/1.1 got %q, want 502", chunk, got)
		}
		f := dialFrames(t, at(p, 0))
		f.head(1, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/")
		if status, err := f.status(1); status != "502" {
			t.Errorf("chunk %q: the client of HTTP/2 got %s, %v, want 502", chunk, status, err)
		}
	}
}
