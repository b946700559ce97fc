package proxy

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/upstream"
)

// The protocol of a cluster over TLS is the one that its servers choose, if the cluster allows it.
func TestNegotiation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "servers")
	caFile := ca.Write(t, dir, "ca")
	pair := ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}})
	offers := func(protocols ...string) func(*tls.Config) {
		return func(c *tls.Config) {
			if len(protocols) > 0 {
				c.NextProtos = protocols
				return
			}
			without := c.Clone()
			without.NextProtos = nil
			c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return without, nil }
		}
	}
	for _, row := range []struct {
		name     string
		protocol Protocol
		server   func(*tls.Config)
		want     string // the protocol that the server has chosen; empty if requests fail
	}{
		{"auto, both", "auto", offers("h2", "http/1.1"), "h2"},
		{"auto, HTTP/1.1", "auto", offers("http/1.1"), "http/1.1"},
		{"auto, without ALPN", "auto", offers(), "none"},
		{"HTTP/2, both", "http2", offers("h2", "http/1.1"), "h2"},
		{"HTTP/2, HTTP/1.1", "http2", offers("http/1.1"), ""},
		{"HTTP/2, without ALPN", "http2", offers(), ""},
		{"HTTP/1.1, both", "http1", offers("h2", "http/1.1"), "http/1.1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cluster := secureCluster(secureHTTP2Web(t, pair, row.server), upstream.TLS{CAFile: caFile})
			cluster.Protocol = upstream.Protocol(row.protocol)
			p, url := to(t, cluster)
			var all sync.WaitGroup
			for range 20 { // most of them wait for the first connection
				all.Go(func() {
					resp, err := http.Post(url, "text/plain", strings.NewReader("body"))
					if err != nil {
						t.Error(err)
						return
					}
					resp.Body.Close()
					if got := resp.Header.Get("X-Chosen"); got != row.want || (resp.StatusCode == 502) != (row.want == "") {
						t.Errorf("status %d over %q, want %q", resp.StatusCode, got, row.want)
					}
				})
			}
			all.Wait()
			s := p.Snapshot().Clusters[0]
			if conns := s.Endpoints[0].Conns; row.want == "h2" && conns > 2 || row.want == "" && conns > 0 {
				t.Errorf("%d connections on 2 loops", conns)
			}
			if s.Waiting != 0 || s.Active != 0 {
				t.Errorf("%d requests wait, %d are in flight", s.Waiting, s.Active)
			}
		})
	}
}

// secureHTTP2Web starts a server with TLS whose responses name the protocol that it has chosen.
func secureHTTP2Web(t *testing.T, pair *certstest.Pair, change func(*tls.Config)) string {
	t.Helper()
	ln := proxytest.Listen(t)
	c := &tls.Config{Certificates: []tls.Certificate{pair.TLS(t)}}
	change(c)
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			chosen := r.TLS.NegotiatedProtocol
			if chosen == "" {
				chosen = "none"
			}
			w.Header().Set("X-Chosen", chosen)
		}),
		TLSConfig: c, ReadHeaderTimeout: proxytest.Patience, ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(slices.Contains(c.NextProtos, "h2"))
	go func() { _ = s.ServeTLS(ln, "", "") }()
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

// Without TLS, the protocol auto is HTTP/1.1.
func TestAutoWithoutTLS(t *testing.T) {
	t.Parallel()
	cluster := cluster1("web", proxytest.ServeHTTP(t, proxytest.EchoHTTP))
	cluster.Protocol = upstream.Auto
	_, url := to(t, cluster)
	if got, err := get(http.DefaultClient, url); err != nil || got != "hi" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A server chooses HTTP/1.1 where it has chosen HTTP/2 before, for example because it was replaced by an older one.
func TestNegotiationChanges(t *testing.T) {
	t.Parallel()
	ca := certstest.NewCA(t, "servers")
	pair := ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}})
	var older atomic.Bool
	server := secureHTTP2Web(t, pair, func(c *tls.Config) {
		c.NextProtos = []string{"h2", "http/1.1"}
		old := c.Clone()
		old.NextProtos = []string{"http/1.1"}
		c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if older.Load() {
				return old, nil
			}
			return nil, nil
		}
	})
	cluster := secureCluster(server, upstream.TLS{CAFile: ca.Write(t, t.TempDir(), "ca")})
	cluster.Protocol, cluster.IdleTimeout = upstream.Auto, proxytest.Brief
	p, url := to(t, cluster)
	for _, want := range []string{"h2", "http/1.1"} {
		older.Store(want != "h2")
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("X-Chosen"); got != want {
			t.Errorf("status %d over %q, want %q", resp.StatusCode, got, want)
		}
		proxytest.Eventually(t, "the idle connection is closed", func() bool { return p.Snapshot().Clusters[0].Endpoints[0].Conns == 0 })
	}
}
