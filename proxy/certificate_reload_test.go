package proxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/proxy/traffic"
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
		for end := time.Now().Add(time.Minute); p.Snapshot().Clusters[0].TLSHandshakes < want; time.Sleep(time.Millisecond) {
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
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
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

// The certificate of a listener is replaced under load. No request fails, and new connections see the new certificate.
func TestListenerCertificateReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "servers")
	local := certstest.Leaf{Names: []string{"127.0.0.1"}}
	first, second := ca.Issue(t, local), ca.Issue(t, local)
	certFile, keyFile := first.Write(t, dir, "listener")
	p := start(t, &Config{
		Listeners: []Listener{{
			Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "web",
			TLS: &ListenerTLS{Certificates: []Certificate{{CertFile: certFile, KeyFile: keyFile}}},
		}},
		Clusters: []upstream.Config{cluster1("web", web(t, "a", 0))},
	})
	url := "https://" + at(p, 0)

	var seen [2]atomic.Int64 // handshakes by certificate
	sessions := tls.NewLRUClientSessionCache(8)
	config := &tls.Config{RootCAs: ca.Pool(), ClientSessionCache: sessions, VerifyConnection: func(s tls.ConnectionState) error {
		if s.PeerCertificates[0].Equal(first.Cert) {
			seen[0].Add(1)
		} else {
			seen[1].Add(1)
		}
		return nil
	}}
	done := make(chan struct{})
	var clients sync.WaitGroup
	for i := range 6 {
		clients.Go(func() {
			c := config.Clone()
			if i%2 == 0 {
				c.ClientSessionCache = nil // a resumed session does not show the new certificate
			}
			transport := &http.Transport{TLSClientConfig: c, DisableKeepAlives: i < 4, ForceAttemptHTTP2: i == 5}
			defer transport.CloseIdleConnections()
			for client := (&http.Client{Transport: transport, Timeout: 20 * time.Second}); ; {
				select {
				case <-done:
					return
				default:
				}
				if got, err := get(client, url); err != nil || got != "a / hi" {
					t.Errorf("client %d: %q, %v", i, got, err)
					return
				}
			}
		})
	}
	until := func(i int, n int64) {
		t.Helper()
		for end := time.Now().Add(time.Minute); seen[i].Load() < n; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d handshakes with certificate %d, want %d", seen[i].Load(), i, n)
			}
		}
	}
	until(0, 30)
	certstest.Replace(t, keyFile, second.Key) // between the two writes, the files do not match
	p.certs.Refresh()
	until(0, seen[0].Load()+30)
	if n := seen[1].Load(); n != 0 {
		t.Errorf("%d handshakes with the second certificate before it is complete", n)
	}
	certstest.Replace(t, certFile, second.CertPEM)
	p.certs.Refresh()
	until(1, 30)
	close(done)
	clients.Wait()
}

// A client CA is removed: its clients cannot connect any more, not even by resuming a session. An open connection stays.
func TestListenerClientCARemoved(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	caFile := filepath.Join(t.TempDir(), "clients.pem")
	before, after := certstest.NewCA(t, "before"), certstest.NewCA(t, "after")
	certstest.Replace(t, caFile, before.PEM)
	p := start(t, &Config{
		Listeners: []Listener{{
			Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web",
			TLS: &ListenerTLS{Certificates: f.server.Certificates, ClientCAFile: caFile},
		}},
		Clusters: []upstream.Config{cluster1("web", web(t, "a", 0))},
	})
	url := "https://" + at(p, 0)
	config := f.client(t, "a.example", before.Issue(t, certstest.Leaf{CommonName: "old"}))
	config.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	open, resuming := httpClient(t, config), httpClient(t, config)
	request := func(c *http.Client, accepted bool, when string) {
		t.Helper()
		if _, err := get(c, url); (err == nil) != accepted {
			t.Errorf("%s: %v, want accepted %t", when, err, accepted)
		}
	}
	request(open, true, "the first connection")
	request(resuming, true, "the second connection")
	wantHandshake(t, p, traffic.HandshakeResumed, 1)
	resuming.CloseIdleConnections()

	certstest.Replace(t, caFile, after.PEM)
	p.certs.Refresh()
	request(open, true, "an open connection, after the CA was removed")
	request(resuming, false, "a resumed session, after the CA was removed")
	request(httpClient(t, f.client(t, "a.example", after.Issue(t, certstest.Leaf{CommonName: "new"}))), true, "a client of the other CA")
}
