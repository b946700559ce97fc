package cli

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestExampleProxyHTTP2: the example responds 503 while its server is absent, and serves one that starts later, speaks
// HTTP/1.0 and closes each connection.
func TestExampleProxyHTTP2(t *testing.T) {
	t.Parallel()
	x := newProxyExample(t, "http2.yaml")
	defer x.run()()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	defer tr.CloseIdleConnections()
	web := &http.Client{Transport: tr, Timeout: 20 * time.Second}
	get := func() (status int, body string) {
		t.Helper()
		resp, err := web.Get("http://" + x.address("18082") + "/a?b")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.ProtoMajor != 2 {
			t.Fatalf("%s: %v", resp.Proto, err)
		}
		return resp.StatusCode, string(text)
	}
	for range 3 {
		if status, _ := get(); status != http.StatusServiceUnavailable {
			t.Fatalf("status %d without a server, want 503", status)
		}
	}
	ln, err := net.Listen("tcp", x.address("18092"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.0 200 OK\r\n\r\n1.0 "+r.URL.String())
			}
			conn.Close()
		}
	}()
	for range 3 {
		if status, body := get(); status != http.StatusOK || body != "1.0 /a?b" {
			t.Fatalf("%d %q from a server of HTTP/1.0", status, body)
		}
	}
	x.awaitMetric("18097", `ferry_proxy_requests_total\{code="2xx",listener="`+x.address("18082")+`",route="web"\} 3`)
	x.awaitMetric("18097", `ferry_proxy_requests_total\{code="5xx",listener="`+x.address("18082")+`",route="web"\} 3`)
}
