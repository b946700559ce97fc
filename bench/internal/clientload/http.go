package clientload

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
)

// HTTP are clients of package net/http. They send GET and POST requests in turn. net/http repeats a request on another connection if the
// server has closed a kept connection before the first byte of the response, or if the server of HTTP/2 has refused the stream: this
// counts as sent again. The POST requests have an Idempotency-Key, which permits that, unless Once is set.
type HTTP struct {
	Name  string
	URL   string
	HTTP2 bool        // without TLS: with prior knowledge. The clients share a connection
	TLS   *tls.Config // of https URLs
	Fresh bool        // a new connection for each request
	Once  bool        // POST requests only, which net/http repeats only if it has written nothing of them
}

// Kind returns the Kind of a Load.
func (h HTTP) Kind() Kind {
	var shared *http.Transport
	if h.HTTP2 {
		shared = h.transport()
	}
	return Kind{Name: h.Name, Connect: func(context.Context, int) (Client, error) {
		t := shared
		if t == nil {
			t = h.transport()
		}
		return &httpClient{HTTP: h, transport: t}, nil
	}}
}

func (h HTTP) transport() *http.Transport {
	p := new(http.Protocols)
	switch {
	case !h.HTTP2:
		p.SetHTTP1(true)
	case h.TLS == nil:
		p.SetUnencryptedHTTP2(true)
	default:
		p.SetHTTP2(true)
	}
	t := &http.Transport{Protocols: p, DisableKeepAlives: h.Fresh}
	if h.TLS != nil {
		t.TLSClientConfig = h.TLS.Clone()
	}
	return t
}

type httpClient struct {
	HTTP
	transport *http.Transport
	sent      int
}

func (c *httpClient) Close() { c.transport.CloseIdleConnections() }

func (c *httpClient) Do(ctx context.Context, id string) (again int, err error) {
	attempts := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { attempts++ }})
	method, body := http.MethodGet, io.Reader(nil)
	if c.sent++; c.Once || c.sent%2 == 0 {
		method, body = http.MethodPost, strings.NewReader(id)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL, body)
	if err != nil {
		return 0, err
	}
	request.Header.Set("X-Id", id)
	if !c.Once {
		request.Header.Set("Idempotency-Key", id)
	}
	response, err := c.transport.RoundTrip(request)
	again = max(attempts-1, 0)
	if err != nil {
		return again, fmt.Errorf("%s: %w", method, err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		return again, fmt.Errorf("%s: the body ends after %d bytes: %w", method, len(got), err)
	}
	if response.StatusCode != http.StatusOK || string(got) != id {
		return again, fmt.Errorf("%s: got %s with %.60q, want 200 with %q", method, response.Status, got, id)
	}
	return again, nil
}
