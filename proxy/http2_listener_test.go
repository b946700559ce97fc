package proxy

import (
	"io"
	"net/http"
	"reflect"
	"testing"
	"time"

	"example.com/ferry/internal/bytesize"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/http1"
	"example.com/ferry/proxy/http2"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/upstream"

	wire "example.com/ferry/protocol/http1"
)

// TestBothVersions: a listener with protocol http serves HTTP/1.1 and HTTP/2, which reach clusters of both, and a reload that
// removes the listener drains the connections of both.
func TestBothVersions(t *testing.T) {
	old, modern := cluster1("old", proxytest.ServeHTTP(t, proxytest.EchoHTTP)), cluster1("new", proxytest.ServeHTTP2(t, nil, proxytest.EchoHTTP))
	modern.Protocol = upstream.HTTP2
	cfg := &Config{Loops: 1, Clusters: []upstream.Config{old, modern}}
	for _, c := range cfg.Clusters {
		cfg.Listeners = append(cfg.Listeners, Listener{Name: c.Name, Address: "127.0.0.1:0", Protocol: HTTP, Cluster: c.Name})
	}
	cfg.Listeners = append(cfg.Listeners, Listener{Name: "stays", Address: "127.0.0.1:0", Protocol: HTTP2, Cluster: "old"})
	p, err := New(cfg, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	for version := 1; version <= 2; version++ {
		tr := &http.Transport{Protocols: new(http.Protocols)}
		tr.Protocols.SetHTTP1(version == 1)
		tr.Protocols.SetUnencryptedHTTP2(version == 2)
		defer tr.CloseIdleConnections()
		for _, b := range p.Snapshot().Bound[:2] {
			resp, err := (&http.Client{Transport: tr, Timeout: proxytest.Patience}).Get("http://" + b.Address + "/a")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 || resp.ProtoMajor != version {
				t.Errorf("HTTP/%d to the cluster %s: %s %d, %v", version, b.Listener, resp.Proto, resp.StatusCode, err)
			}
			resp.Body.Close()
		}
	}
	bound := p.Snapshot().Bound[:2]
	clients := func() (n int) {
		for _, l := range p.group.Loops() {
			n += proxytest.OnLoop(t, l, func() (n int) {
				for c := range l.All() {
					if local := c.LocalAddr(); local != nil && (local.String() == bound[0].Address || local.String() == bound[1].Address) {
						n++
					}
				}
				return n
			})
		}
		return n
	}
	if n := clients(); n != 4 {
		t.Errorf("%d connections of clients, want one for each version and listener", n)
	}
	next := *cfg
	next.Listeners = cfg.Listeners[2:]
	if err := p.Reload(&next); err != nil {
		t.Fatal(err)
	}
	proxytest.Eventually(t, "the clients' connections are closed", func() bool { return clients() == 0 })
}

// TestListenerSettings: with protocol http, http2 takes what it leaves out from http1.
func TestListenerSettings(t *testing.T) {
	l := Listener{Protocol: HTTP, HTTP1: http1.Config{Limits: wire.Limits{MaxBody: 10}, HTTPConfig: exchange.HTTPConfig{IdleTimeout: time.Second, HeaderTimeout: time.Minute, Via: "a", ForwardedFor: true, TrustForwarded: true, MaxRequests: 7}}, HTTP2: http2.Config{MaxStreams: 3, HTTPConfig: exchange.HTTPConfig{HeaderTimeout: time.Hour}}}
	want := http2.Config{MaxBody: bytesize.Size(10), MaxStreams: 3, HTTPConfig: exchange.HTTPConfig{IdleTimeout: time.Second, HeaderTimeout: time.Hour, Via: "a", ForwardedFor: true, TrustForwarded: true, MaxRequests: 7}}
	if got := l.http2(); !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, want %+v", *got, want)
	}
	l.Protocol = HTTP2
	if got := l.http2(); !reflect.DeepEqual(*got, l.HTTP2) {
		t.Errorf("got %+v, want %+v", *got, l.HTTP2)
	}
}
