package proxy

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/ferry/proxy/upstream"
)

// TestSuitesOfTLS12: neither listeners nor clusters agree on a suite of TLS 1.2 that HTTP/2 forbids.
func TestSuitesOfTLS12(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	var suites []*tls.CipherSuite
	suites = append(append(suites, tls.CipherSuites()...), tls.InsecureCipherSuites()...)
	cfg := &Config{
		Listeners: []Listener{
			{Name: "http", Address: "127.0.0.1:0", Protocol: HTTP, TLS: &f.server, Cluster: "web"},
			{Name: "http2", Address: "127.0.0.1:0", Protocol: HTTP2, TLS: &f.server, Cluster: "web"},
			{Name: "cleartext", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "secure"},
		},
		Clusters: []upstream.Config{cluster1("web", web(t, "a", 0))},
	}
	old := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA}}
	old.Config.ErrorLog = nil
	old.StartTLS()
	t.Cleanup(old.Close)
	secure := cluster1("secure", strings.TrimPrefix(old.URL, "https://"))
	secure.TLS = &upstream.TLS{InsecureSkipVerify: true}
	cfg.Clusters = append(cfg.Clusters, secure)
	p := start(t, cfg)
	for i := range 2 {
		agreed := 0
		for _, s := range suites {
			if len(s.SupportedVersions) == 1 && s.SupportedVersions[0] == tls.VersionTLS13 {
				continue
			}
			c := f.client(t, "a.example", nil)
			c.MaxVersion, c.CipherSuites, c.NextProtos = tls.VersionTLS12, []uint16{s.ID}, []string{"h2", "http/1.1"}
			conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", at(p, i), c)
			if err != nil {
				continue
			}
			conn.Close()
			agreed++
			if !strings.Contains(s.Name, "ECDHE") || !strings.Contains(s.Name, "GCM") && !strings.Contains(s.Name, "CHACHA20") {
				t.Errorf("listener %d agrees on %s", i, s.Name)
			}
		}
		if agreed == 0 {
			t.Errorf("listener %d agrees on no suite of TLS 1.2", i)
		}
	}
	if resp, err := http.Get("http://" + at(p, 2) + "/"); err != nil || resp.StatusCode != http.StatusBadGateway {
		t.Errorf("a server with a CBC suite only: %v, %v, want 502", resp, err)
	}
}
