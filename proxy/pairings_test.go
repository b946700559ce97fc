package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"

	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/upstream"
)

// pairingServer echoes requests with a trailer. The path says what else it does.
func pairingServer(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Proto", r.Proto)
	h.Set("X-Seen", fmt.Sprint(r.Method, " ", r.Host, " ", r.URL, " ", r.Header["Cookie"], " ", r.Header["Te"], " ", r.Header["X-Forwarded-For"]))
	switch r.URL.Path {
	case "/204":
		w.WriteHeader(204)
		return
	case "/304":
		h.Set("Etag", "1")
		w.WriteHeader(304)
		return
	case "/103":
		h.Set("Link", "</a>")
		w.WriteHeader(103)
	case "/early":
		h.Set("Content-Length", "5")
		w.WriteHeader(413)
		io.WriteString(w, "early")
		return
	case "/abort":
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	h.Set("Trailer", "X-Length")
	w.(http.Flusher).Flush() // otherwise a short response has a Content-Length, and no trailers in HTTP/1.1
	_, _ = w.Write(body)
	h.Set("X-Length", fmt.Sprintf("%d%v", len(body), r.Trailer["X-Client"]))
}

// TestPairings sends the same requests through all pairings of HTTP/1.1 and HTTP/2.
func TestPairings(t *testing.T) {
	t.Parallel()
	servers := map[upstream.Protocol]string{
		upstream.HTTP1: proxytest.ServeHTTP(t, pairingServer),
		upstream.HTTP2: proxytest.ServeHTTP2(t, nil, pairingServer),
	}
	protos := map[upstream.Protocol]string{upstream.HTTP1: "HTTP/1.1", upstream.HTTP2: "HTTP/2.0"}
	for _, listener := range []Protocol{HTTP1, HTTP2, HTTP} {
		for protocol, server := range servers {
			t.Run(fmt.Sprint(listener, " to ", protocol), func(t *testing.T) {
				t.Parallel()
				cluster := cluster1("web", server)
				cluster.Protocol = protocol
				l := Listener{Address: "127.0.0.1:0", Protocol: listener, Cluster: "web"}
				l.HTTP1.ForwardedFor, l.HTTP2.ForwardedFor = true, true
				p := start(t, &Config{Listeners: []Listener{l}, Clusters: []upstream.Config{cluster}})
				versions := []string{string(listener)}
				if listener == HTTP {
					versions = []string{"http1", "http2"}
				}
				for _, version := range versions {
					c := pairingClient(t, version == "http2")
					testPairing(t, c, "http://"+at(p, 0), at(p, 0), protos[protocol])
				}
			})
		}
	}
}

// pairingClient returns a client of one version of HTTP.
func pairingClient(tb testing.TB, http2 bool) *http.Client {
	tr := &http.Transport{Protocols: new(http.Protocols), ExpectContinueTimeout: proxytest.Patience}
	tr.Protocols.SetUnencryptedHTTP2(http2)
	tr.Protocols.SetHTTP1(!http2)
	tb.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: proxytest.Patience}
}

func testPairing(t *testing.T, c *http.Client, url, host, proto string) {
	ask := func(method, path string, body io.Reader, change func(*http.Request)) (*http.Response, string, error) {
		t.Helper()
		req, err := http.NewRequestWithContext(context.Background(), method, url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(req)
		}
		resp, err := c.Do(req)
		if err != nil {
			return nil, "", err
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		return resp, string(got), err
	}

	resp, got, err := ask("GET", "/a?b=c", nil, func(r *http.Request) { r.Header.Set("Cookie", "a=b; c=d") })
	if err != nil || got != "" || resp.Header.Get("X-Proto") != proto || resp.Header.Get("X-Seen") != "GET "+host+" /a?b=c [a=b; c=d] [] [127.0.0.1]" {
		t.Fatalf("GET: %v, %+v", err, resp)
	}
	for _, size := range []int{1, 1000, 1 << 20} {
		want := strings.Repeat("0123456789", size/10+1)
		resp, got, err := ask("POST", "/", strings.NewReader(want), nil)
		if err != nil || got != want {
			t.Errorf("POST of %d bytes: %d bytes back, %v", len(want), len(got), err)
		} else if trailer := resp.Trailer.Get("X-Length"); trailer != fmt.Sprintf("%d[]", len(want)) {
			t.Errorf("POST of %d bytes: trailer %q", len(want), trailer)
		}
	}
	resp, got, err = ask("POST", "/", io.MultiReader(strings.NewReader("un"), strings.NewReader("known")), func(r *http.Request) {
		r.Trailer = http.Header{"X-Client": {"t"}}
	})
	if err != nil || got != "unknown" || resp.Trailer.Get("X-Length") != "7[t]" {
		t.Errorf("POST with trailers: %q, %v, trailers %v", got, err, resp.Trailer)
	}
	if resp, got, err = ask("HEAD", "/", nil, nil); err != nil || resp.StatusCode != 200 || got != "" {
		t.Errorf("HEAD: %v, %+v", err, resp)
	}
	for _, status := range []int{204, 304} {
		if resp, got, err = ask("GET", fmt.Sprint("/", status), nil, nil); err != nil || resp.StatusCode != status || got != "" {
			t.Errorf("%d: %v, %+v", status, err, resp)
		}
	}
	var hints, continues int
	trace := &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			if code == 103 && h.Get("Link") == "</a>" {
				hints++
			}
			return nil
		},
		Got100Continue: func() { continues++ },
	}
	traced := func(r *http.Request) { *r = *r.WithContext(httptrace.WithClientTrace(r.Context(), trace)) }
	if _, got, err = ask("PUT", "/103", strings.NewReader("body"), traced); err != nil || got != "body" || hints != 1 {
		t.Errorf("103: %q, %v; %d interim responses", got, err, hints)
	}
	_, got, err = ask("PUT", "/", strings.NewReader("body"), func(r *http.Request) {
		r.Header.Set("Expect", "100-continue")
		traced(r)
	})
	if err != nil || got != "body" || continues != 1 {
		t.Errorf("100: %q, %v; %d interim responses", got, err, continues)
	}
	if resp, got, err = ask("POST", "/early", bytes.NewReader(make([]byte, 100_000)), nil); err != nil || resp.StatusCode != 413 || got != "early" {
		t.Errorf("early response: %q, %v", got, err)
	}
	if _, got, err = ask("GET", "/abort", nil, nil); err == nil {
		t.Errorf("a response that breaks off ends as %q, without an error", got)
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			want := strings.Repeat(fmt.Sprint(i, ","), 10_000)
			if _, got, err := ask("POST", "/", strings.NewReader(want), nil); err != nil || got != want {
				t.Errorf("request %d: %d bytes of %d, or others: %v", i, len(got), len(want), err)
			}
		})
	}
	all.Wait()
}
