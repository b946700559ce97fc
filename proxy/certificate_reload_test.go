package proxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/proxy/upstream"
)

// All files of a cluster are replaced under load, together with the server's certificate. No request fails, and new
// connections show the new certificate of the client.
func TestClusterCertificatesReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	oldServers, newServers, clients := certstest.NewCA(t, "old servers"), certstest.NewCA(t, "new servers"), certstest.NewCA(t, "clients")
	local := certstest.Leaf{Names: []string{"127.0.0.1"}}
	first, second := clients.Issue(t, certstest.Leaf{CommonName: "first"}), clients.Issue(t, certstest.Leaf{CommonName: "second"})
	certFile, keyFile := first.Write(t, dir, "client")
	caFile := oldServers.Write(t, dir, "servers")

	var certificate atomic.Pointer[tls.Certificate]
	use := func(p *certstest.Pair) {
		c := p.TLS(t)
		certificate.Store(&c)
	}
	use(oldServers.Issue(t, local))
	var count atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if count.Add(1)%3 == 0 {
			w.Header().Set("Connection", "close") // so that there are handshakes all the time
		}
		fmt.Fprintf(w, "%s", r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	s.TLS = &tls.Config{
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients.Pool(),
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{
				ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients.Pool(), Certificates: []tls.Certificate{*certificate.Load()},
			}, nil
		},
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)

	p, url := to(t, secureCluster(s.Listener.Addr().String(), upstream.TLS{CAFile: caFile, CertFile: certFile, KeyFile: keyFile}))
	stop := load(t, url, 8)
	// further waits until the cluster has opened n more connections.
	further := func(n int64) {
		t.Helper()
		want := p.Snapshot().Clusters[0].TLSHandshakes + n
		for end := time.Now().Add(20 * time.Second); p.Snapshot().Clusters[0].TLSHandshakes < want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("no new connections")
			}
		}
	}
	further(20)
	// The client certificate: between the two writes, the files do not match.
	certstest.Replace(t, certFile, second.CertPEM)
	p.certs.Refresh()
	further(20)
	certstest.Replace(t, keyFile, second.Key)
	p.certs.Refresh()
	further(20)
	// The server's CA: both are trusted, the server changes, then only the new one is trusted.
	certstest.Replace(t, caFile, append(append([]byte(nil), oldServers.PEM...), newServers.PEM...))
	p.certs.Refresh()
	further(20)
	use(newServers.Issue(t, local))
	further(20)
	newServers.Write(t, dir, "servers")
	p.certs.Refresh()
	further(20)

	counts := stop() // it reports requests that failed
	if counts["first"] == 0 || counts["second"] == 0 || len(counts) != 2 {
		t.Errorf("responses by the client's certificate: %v, want some of first and second", counts)
	}
	if got, err := get(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, url); err != nil || got != "second" {
		t.Errorf("afterwards: %q, %v, want second", got, err)
	}
	if failed := p.Snapshot().Clusters[0].TLSFailed; failed != [upstream.TLSFailures]int64{} {
		t.Errorf("connections that failed: %v", failed)
	}
	var reloads, failures int64
	for _, f := range p.certs.Snapshot() {
		reloads, failures = reloads+f.Reloads, failures+f.Failures
	}
	if reloads != 3 || failures != 1 {
		t.Errorf("%d reloads and %d failures, want 3 and 1", reloads, failures)
	}
}

// While the certificate of the only server is not acceptable, requests fail at once with 502, or with 503 if health checks
// know. They succeed as soon as the file of the CAs is right.
func TestClusterRecoversWhenTheCAFileIsRight(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servers, other := certstest.NewCA(t, "servers"), certstest.NewCA(t, "other")
	caFile := other.Write(t, dir, "ca")
	cfg := secureCluster(secureWeb(t, servers.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}}), nil), upstream.TLS{CAFile: caFile})
	cfg.Health = &upstream.Health{Kind: upstream.HealthHTTP, Interval: 10 * time.Millisecond, Unhealthy: 1, Healthy: 1}
	p, url := to(t, cfg)
	until := func(want string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			got, err := get(http.DefaultClient, url)
			if err != nil {
				got = err.Error()
			}
			switch {
			case got == want:
				return
			case time.Now().After(end):
				t.Fatalf("got %q, want %q", got, want)
			case err == nil || got != "502 Bad Gateway" && got != "503 Service Unavailable":
				t.Fatalf("got %q while waiting for %q", got, want)
			}
		}
	}
	until("503 Service Unavailable")
	servers.Write(t, dir, "ca")
	p.certs.Refresh()
	until("- http/1.1 ")
}
