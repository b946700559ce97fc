package proxy

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// secureWeb starts a server with TLS that responds with the common name of the client's certificate, the protocol, and the
// name that the client asked for. change changes its configuration before.
func secureWeb(t *testing.T, pair *certstest.Pair, change func(*tls.Config)) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		name := "-"
		if list := r.TLS.PeerCertificates; len(list) > 0 {
			name = list[0].Subject.CommonName
		}
		fmt.Fprintf(w, "%s %s %s", name, r.TLS.NegotiatedProtocol, r.TLS.ServerName)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLS(t)}, NextProtos: []string{"http/1.1"}}
	if change != nil {
		change(s.TLS)
	}
	s.EnableHTTP2 = slices.Contains(s.TLS.NextProtos, "h2")
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// to starts a proxy with an HTTP/1.1 listener for one cluster.
func to(t *testing.T, c upstream.Config) (p *Proxy, url string) {
	t.Helper()
	p = start(t, &Config{
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: c.Name}},
		Clusters:  []upstream.Config{c},
	})
	return p, "http://" + at(p, 0) + "/"
}

// secureCluster returns a cluster over TLS.
func secureCluster(server string, t upstream.TLS) upstream.Config {
	c := cluster1("web", server)
	c.TLS = &t
	return c
}

func TestTLSOrigination(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servers, clients, other := certstest.NewCA(t, "servers"), certstest.NewCA(t, "clients"), certstest.NewCA(t, "other")
	caFile, otherFile := servers.Write(t, dir, "servers"), other.Write(t, dir, "other")
	goodCert, goodKey := clients.Issue(t, certstest.Leaf{CommonName: "edge-1"}).Write(t, dir, "good")
	badCert, badKey := other.Issue(t, certstest.Leaf{CommonName: "edge-1"}).Write(t, dir, "bad")
	good := servers.Issue(t, certstest.Leaf{Names: []string{"a.example", "127.0.0.1", "localhost"}})
	expired := servers.Issue(t, certstest.Leaf{Names: []string{"a.example"}, Expired: true})
	mutual := func(version uint16) func(*tls.Config) {
		return func(c *tls.Config) {
			c.ClientAuth, c.ClientCAs, c.MaxVersion = tls.RequireAndVerifyClientCert, clients.Pool(), version
		}
	}
	protocol := func(name string) func(*tls.Config) { return func(c *tls.Config) { c.NextProtos = []string{name} } }
	version := func(v uint16) func(*tls.Config) {
		return func(c *tls.Config) { c.MinVersion, c.MaxVersion = v, v }
	}
	none := func(c *tls.Config) {
		other := c.Clone()
		other.NextProtos = nil
		c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return other, nil }
	}

	for _, row := range []struct {
		name   string
		server *certstest.Pair
		change func(*tls.Config)
		client upstream.TLS
		want   string // body
		fails  int    // or reason of the failure
	}{
		{"by IP address", good, nil, upstream.TLS{CAFile: caFile}, "- http/1.1 ", -1},
		{"by name", good, nil, upstream.TLS{CAFile: caFile, ServerName: "a.example."}, "- http/1.1 a.example", -1},
		{"a server without ALPN", good, none, upstream.TLS{CAFile: caFile}, "-  ", -1},
		{"TLS 1.2", good, version(tls.VersionTLS12), upstream.TLS{CAFile: caFile}, "- http/1.1 ", -1},
		{"not verified", expired, nil, upstream.TLS{InsecureSkipVerify: true, ServerName: "b.example"}, "- http/1.1 b.example", -1},
		{"mutual, TLS 1.2", good, mutual(tls.VersionTLS12), upstream.TLS{CAFile: caFile, CertFile: goodCert, KeyFile: goodKey}, "edge-1 http/1.1 ", -1},
		{"mutual, TLS 1.3", good, mutual(0), upstream.TLS{CAFile: caFile, CertFile: goodCert, KeyFile: goodKey}, "edge-1 http/1.1 ", -1},

		{"another name", good, nil, upstream.TLS{CAFile: caFile, ServerName: "b.example"}, "", int(upstream.TLSName)},
		{"another CA", good, nil, upstream.TLS{CAFile: otherFile}, "", int(upstream.TLSAuthority)},
		{"the system's CAs", good, nil, upstream.TLS{}, "", int(upstream.TLSAuthority)},
		{"expired", expired, nil, upstream.TLS{CAFile: caFile, ServerName: "a.example"}, "", int(upstream.TLSExpired)},
		{"another protocol", good, protocol("smtp"), upstream.TLS{CAFile: caFile}, "", int(upstream.TLSProtocol)},
		{"an old version", good, version(tls.VersionTLS12), upstream.TLS{CAFile: caFile, MinVersion: upstream.TLS13}, "", int(upstream.TLSProtocol)},
		{"no client certificate, TLS 1.2", good, mutual(tls.VersionTLS12), upstream.TLS{CAFile: caFile}, "", int(upstream.TLSRefused)},
		{"no client certificate, TLS 1.3", good, mutual(0), upstream.TLS{CAFile: caFile}, "", int(upstream.TLSRefused)},
		{"another client certificate", good, mutual(0), upstream.TLS{CAFile: caFile, CertFile: badCert, KeyFile: badKey}, "", int(upstream.TLSRefused)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p, url := to(t, secureCluster(secureWeb(t, row.server, row.change), row.client))
			got, err := get(http.DefaultClient, url)
			s := p.Snapshot().Clusters[0]
			if row.fails < 0 {
				if err != nil || got != row.want {
					t.Errorf("got %q, %v; want %q", got, err, row.want)
				}
				if s.TLSHandshakes != 1 || s.TLSFailed != [upstream.TLSFailures]int64{} {
					t.Errorf("%d handshakes, failures %v; want one handshake", s.TLSHandshakes, s.TLSFailed)
				}
				return
			}
			var want [upstream.TLSFailures]int64
			want[row.fails] = 1
			if err == nil || err.Error() != "502 Bad Gateway" || s.TLSFailed != want {
				t.Errorf("got %q, %v with failures %v; want 502 with %v", got, err, s.TLSFailed, want)
			}
			if e := s.Endpoints[0]; e.Outcomes[upstream.ConnectFailure]+e.Outcomes[upstream.Reset] != 1 || e.Conns != 0 {
				t.Errorf("got %+v, want one attempt that failed and no connection", e)
			}
		})
	}
}

// ALPN decides what a cluster of HTTP/2 accepts, and what a cluster with auto speaks.
func TestTLSOriginationProtocols(t *testing.T) {
	t.Parallel()
	ca := certstest.NewCA(t, "servers")
	caFile := ca.Write(t, t.TempDir(), "ca")
	leaf := certstest.Leaf{Names: []string{"127.0.0.1"}}
	for _, row := range []struct {
		name     string
		server   []string // protocols of the server
		protocol upstream.Protocol
		want     string // body; or error
	}{
		{"http2", []string{"h2", "http/1.1"}, upstream.HTTP2, "- h2 "},
		{"auto, HTTP/2", []string{"h2", "http/1.1"}, upstream.Auto, "- h2 "},
		{"auto, HTTP/1.1", []string{"http/1.1"}, upstream.Auto, "- http/1.1 "},
		{"auto, no ALPN", nil, upstream.Auto, "-  "},
		{"http1", []string{"h2", "http/1.1"}, upstream.HTTP1, "- http/1.1 "},
		{"http2, but the server speaks HTTP/1.1", []string{"http/1.1"}, upstream.HTTP2, "502 Bad Gateway"},
		{"http2, but the server has no ALPN", nil, upstream.HTTP2, "502 Bad Gateway"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := secureWeb(t, ca.Issue(t, leaf), func(c *tls.Config) {
				other := c.Clone()
				c.NextProtos, other.NextProtos = []string{"h2", "http/1.1"}, row.server // httptest serves HTTP/2 if the first one says so
				c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return other, nil }
			})
			cfg := secureCluster(server, upstream.TLS{CAFile: caFile})
			cfg.Protocol = row.protocol
			p, url := to(t, cfg)
			for range 3 {
				got, err := get(http.DefaultClient, url)
				if err != nil {
					got = err.Error()
				}
				if got != row.want {
					t.Errorf("got %q, want %q", got, row.want)
				}
			}
			failed := p.Snapshot().Clusters[0].TLSFailed
			if refused := row.want == "502 Bad Gateway"; refused && failed[upstream.TLSProtocol] == 0 || !refused && failed != [upstream.TLSFailures]int64{} {
				t.Errorf("failures %v", failed)
			}
		})
	}
}

// A server that does not speak TLS gets no byte of the request.
func TestTLSOriginationNeverInCleartext(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	server := serve(t, func(c net.Conn) {
		var p [512]byte
		n, _ := c.Read(p[:])
		seen <- string(p[:n])
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
		_, _ = io.Copy(io.Discard, c)
	})
	p, url := to(t, secureCluster(server, upstream.TLS{InsecureSkipVerify: true}))
	if _, err := get(http.DefaultClient, url); err == nil || err.Error() != "502 Bad Gateway" {
		t.Errorf("got %v, want 502", err)
	}
	if got := <-seen; strings.Contains(got, "HTTP") {
		t.Errorf("the server saw %q", got)
	}
	if got := p.Snapshot().Clusters[0].TLSFailed[upstream.TLSOther]; got != 1 {
		t.Errorf("%d failures counted as other, want 1", got)
	}
}

// A server that is silent during the handshake fails at the connect timeout.
func TestTLSOriginationTimeout(t *testing.T) {
	t.Parallel()
	server := serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	cfg := secureCluster(server, upstream.TLS{InsecureSkipVerify: true})
	cfg.ConnectTimeout = 100 * time.Millisecond
	_, url := to(t, cfg)
	if _, err := get(http.DefaultClient, url); err == nil || err.Error() != "504 Gateway Timeout" {
		t.Errorf("got %v, want 504", err)
	}
}

// Connections are kept between requests, and further ones resume the session of the first.
func TestTLSOriginationReuse(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ca := certstest.NewCA(t, "servers")
			server := secureWeb(t, ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}}), func(c *tls.Config) { c.MaxVersion = version })
			cfg := secureCluster(server, upstream.TLS{CAFile: ca.Write(t, dir, "ca")})
			cfg.IdleTimeout = 300 * time.Millisecond
			p, url := to(t, cfg)
			client := &http.Client{Transport: &http.Transport{}} // one connection, so that one loop serves all requests
			defer client.CloseIdleConnections()
			for range 20 {
				if _, err := get(client, url); err != nil {
					t.Fatal(err)
				}
			}
			s := p.Snapshot().Clusters[0]
			if s.TLSHandshakes != 1 {
				t.Errorf("%d handshakes for 20 requests in a row, want 1", s.TLSHandshakes)
			}
			for end := time.Now().Add(time.Minute); p.Snapshot().Clusters[0].Endpoints[0].Conns > 0; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the idle connection stays open")
				}
			}
			if _, err := get(client, url); err != nil {
				t.Fatal(err)
			}
			if s := p.Snapshot().Clusters[0]; s.TLSHandshakes != 2 || s.TLSResumed != 1 {
				t.Errorf("%d handshakes, %d resumed; want 2 and 1", s.TLSHandshakes, s.TLSResumed)
			}
		})
	}
}

// A socket has no name. Without verification none is needed.
func TestTLSOriginationUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	ca := certstest.NewCA(t, "servers")
	ln, err := tls.Listen("unix", path, &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, certstest.Leaf{Names: []string{"a.example"}}).TLS(t)}})
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		fmt.Fprintf(w, "%q", r.TLS.ServerName)
	})}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
	for want, security := range map[string]upstream.TLS{
		`""`:          {InsecureSkipVerify: true},
		`"a.example"`: {ServerName: "a.example", CAFile: ca.Write(t, t.TempDir(), "ca")},
	} {
		cfg := secureCluster("unix:"+path, security)
		cfg.Health = &upstream.Health{Kind: upstream.HealthHTTP}
		p, url := to(t, cfg)
		for range 3 {
			if got, err := get(http.DefaultClient, url); err != nil || got != want {
				t.Errorf("got %s, %v; want %s", got, err, want)
			}
		}
		if e := p.Snapshot().Clusters[0]; e.ChecksFailed != 0 {
			t.Errorf("%d health checks failed", e.ChecksFailed)
		}
	}
}

// An endpoint whose certificate is refused is a failed connection: the request goes to another endpoint, and outlier detection
// ejects the endpoint.
func TestTLSOriginationRetry(t *testing.T) {
	t.Parallel()
	ca, other := certstest.NewCA(t, "servers"), certstest.NewCA(t, "other")
	leaf := certstest.Leaf{Names: []string{"127.0.0.1"}}
	good, bad := secureWeb(t, ca.Issue(t, leaf), nil), secureWeb(t, other.Issue(t, leaf), nil)
	cfg := secureCluster(bad, upstream.TLS{CAFile: ca.Write(t, t.TempDir(), "ca")})
	cfg.Endpoints = append(cfg.Endpoints, upstream.EndpointConfig{Address: good})
	cfg.Balance = upstream.RoundRobin
	cfg.Outlier = &upstream.Outlier{Failures: 3}
	p := start(t, &Config{
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, Routes: []route.Rule{{
			Name: "all", Cluster: "web", Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnConnectFailure}}},
		}}}},
		Clusters: []upstream.Config{cfg},
	})
	for range 20 {
		if got, err := get(http.DefaultClient, "http://"+at(p, 0)); err != nil || got != "- http/1.1 " {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	s := p.Snapshot().Clusters[0]
	failed := s.Endpoints[0]
	if failed.Outcomes[upstream.ConnectFailure] != 3 || failed.Ejections != 1 || s.TLSFailed[upstream.TLSAuthority] != 3 {
		t.Errorf("got %+v and TLS failures %v, want 3 failures to connect and an ejection", failed, s.TLSFailed)
	}
}

// Bolt over TLS has no ALPN.
func TestTLSOriginationBolt(t *testing.T) {
	t.Parallel()
	ca := certstest.NewCA(t, "servers")
	config := &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}}).TLS(t)}}
	server := serve(t, func(c net.Conn) {
		secured := tls.Server(c, config)
		if err := secured.Handshake(); err == nil {
			answer(secured)
		}
	})
	p := start(t, &Config{
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: Bolt, Cluster: "web"}},
		Clusters:  []upstream.Config{secureCluster(server, upstream.TLS{CAFile: ca.Write(t, t.TempDir(), "ca")})},
	})
	for range 3 {
		if err := call(at(p, 0)); err != nil {
			t.Error(err)
		}
	}
}

// A check finds what is wrong with the files of a cluster before the proxy uses them.
func TestTLSOriginationCheck(t *testing.T) {
	t.Parallel()
	cfg := &Config{
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"}},
		Clusters:  []upstream.Config{secureCluster("127.0.0.1:1", upstream.TLS{CAFile: filepath.Join(t.TempDir(), "absent")})},
	}
	var errs Errors
	if _, err := New(cfg, nil, nil); !errors.As(err, &errs) || errs[0].Field != "clusters[0].tls.ca_file" {
		t.Errorf("got %v, want an error of clusters[0].tls.ca_file", err)
	}
}

// What a server sends beyond its response, in the same record or in another, is not the response to the next request.
func TestTLSOriginationUnsolicited(t *testing.T) {
	t.Parallel()
	ca := certstest.NewCA(t, "servers")
	config := &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}}).TLS(t)}}
	caFile := ca.Write(t, t.TempDir(), "ca")
	const response, evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	for name, records := range map[string][]string{"one record": {response + evil}, "two records": {response, evil}, "a part": {response, "H"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(raw net.Conn) {
				out := &corked{Conn: raw}
				c := tls.Server(out, config)
				for r := bufio.NewReader(c); ; {
					request, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, request.Body)
					out.cork = true
					for _, text := range records {
						_, _ = io.WriteString(c, text)
					}
					out.cork = false
					if out.flush() != nil {
						return
					}
				}
			})
			_, url := to(t, secureCluster(server, upstream.TLS{CAFile: caFile}))
			for range 10 {
				if got, err := get(http.DefaultClient, url); err != nil || got != "good" {
					t.Fatalf("got %q, %v", got, err)
				}
			}
		})
	}
}

// corked is a connection that sends several writes as one while cork is set.
type corked struct {
	net.Conn
	cork  bool
	queue []byte
}

func (c *corked) Write(p []byte) (int, error) {
	c.queue = append(c.queue, p...)
	if c.cork {
		return len(p), nil
	}
	return len(p), c.flush()
}

func (c *corked) flush() error {
	_, err := c.Conn.Write(c.queue)
	c.queue = nil
	return err
}
