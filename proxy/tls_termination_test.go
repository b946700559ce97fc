package proxy

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// tlsFiles are the files of a TLS listener and its clients.
type tlsFiles struct {
	servers, clients, other *certstest.CA
	server                  ListenerTLS // certificates for a.example (the default) and b.example
	clientCA                string
}

func newTLSFiles(t *testing.T) *tlsFiles {
	t.Helper()
	dir := t.TempDir()
	f := &tlsFiles{servers: certstest.NewCA(t, "servers"), clients: certstest.NewCA(t, "clients"), other: certstest.NewCA(t, "other")}
	for _, name := range []string{"a", "b"} {
		cert, key := f.servers.Issue(t, certstest.Leaf{Names: []string{name + ".example"}}).Write(t, dir, name)
		f.server.Certificates = append(f.server.Certificates, Certificate{cert, key})
	}
	f.clientCA = f.clients.Write(t, dir, "clients")
	return f
}

// client returns the configuration of a client that asks for a name and presents a certificate; nil presents none.
func (f *tlsFiles) client(t *testing.T, name string, pair *certstest.Pair) *tls.Config {
	t.Helper()
	c := &tls.Config{RootCAs: f.servers.Pool(), ServerName: name, NextProtos: []string{"http/1.1"}}
	if pair != nil {
		cert := pair.TLS(t)
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
	}
	return c
}

// httpClient returns a client of HTTP/1.1 over TLS.
func httpClient(t *testing.T, c *tls.Config) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: c}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// describe starts a server that responds with the fields that the proxy writes.
func describe(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s|%s|%d", r.Header.Get("X-Forwarded-Proto"), strings.Join(r.Header.Values("X-Forwarded-Client-Cert"), "+"), len(body))
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// handshakes returns the counted handshakes of a listener.
func handshakes(p *Proxy, i int) map[traffic.Handshake]uint64 {
	return p.Snapshot().Traffic.Listeners[i].Handshakes
}

// wantHandshake waits until a listener has counted n handshakes with a result.
func wantHandshake(t *testing.T, p *Proxy, h traffic.Handshake, n uint64) {
	t.Helper()
	for end := time.Now().Add(time.Minute); handshakes(p, 0)[h] != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("handshakes %v, want %d of %s", handshakes(p, 0), n, h)
			return
		}
	}
}

func TestTLSTermination(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	logFile := filepath.Join(t.TempDir(), "access.log")
	cfg := &Config{
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, TLS: &f.server, Cluster: "web"}},
		Clusters:  []upstream.Config{cluster1("web", describe(t))},
	}
	cfg.Listeners[0].HTTP1.ForwardedFor = true
	cfg.AccessLog.File = logFile
	p := start(t, cfg)
	for _, name := range []string{"a.example", "b.example"} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			c := f.client(t, name, nil)
			c.MaxVersion = version
			c.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			client := httpClient(t, c)
			for i := range 2 {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+at(p, 0)+"/", strings.NewReader(strings.Repeat("x", 100000)))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("X-Forwarded-Client-Cert", "Hash=00;Subject=\"CN=forged\"")
				response, err := client.Do(request)
				if err != nil {
					t.Fatalf("%s %s: %v", name, tls.VersionName(version), err)
				}
				body, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || string(body) != "https||100000" {
					t.Errorf("%s %s: %q, %v", name, tls.VersionName(version), body, err)
				}
				if response.TLS.DidResume != (i > 0) || response.TLS.NegotiatedProtocol != "http/1.1" {
					t.Errorf("%s %s: resumed %v, protocol %q", name, tls.VersionName(version), response.TLS.DidResume, response.TLS.NegotiatedProtocol)
				}
				client.CloseIdleConnections()
			}
		}
	}
	wantHandshake(t, p, traffic.HandshakeFull, 4)
	wantHandshake(t, p, traffic.HandshakeResumed, 4)
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(logFile)
		if strings.Count(string(text), `"tls":"TLSv1.2","server_name":"b.example"`) == 2 && strings.Count(string(text), `"tls":"TLSv1.3","server_name":"a.example"`) == 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the access log has not the versions and names:\n%s", text)
		}
	}
}

// TestTLSClientCertificates: which clients are refused, how their handshakes are counted, and what servers learn.
func TestTLSClientCertificates(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	good := f.clients.Issue(t, certstest.Leaf{CommonName: `edge "1", x`, Names: []string{"edge.example"}, URIs: []string{"spiffe://prod/edge,1"}})
	expired := f.clients.Issue(t, certstest.Leaf{CommonName: "edge-1", Expired: true})
	unknown := f.other.Issue(t, certstest.Leaf{CommonName: "edge-1"})
	hash := fmt.Sprintf("%x", sha256.Sum256(good.Cert.Raw))
	element := "Hash=" + hash + `;Subject="CN=edge \"1\"\, x";URI="spiffe://prod/edge,1";DNS=edge.example`
	for _, row := range []struct {
		name    string
		auth    ClientAuth
		forward exchange.ForwardClientCert
		pair    *certstest.Pair
		want    string // x-forwarded-client-cert at the server; empty: none
		refused traffic.Handshake
	}{
		{"require, valid", "", "", good, "", 0},
		{"require, valid, set", "", exchange.ForwardSet, good, element, 0},
		{"require, valid, append", "", exchange.ForwardAppend, good, "forged, " + element, 0},
		{"require, none", "", exchange.ForwardSet, nil, "", traffic.HandshakeNoCertificate},
		{"require, expired", "", exchange.ForwardSet, expired, "", traffic.HandshakeBadCertificate},
		{"require, unknown authority", "", exchange.ForwardSet, unknown, "", traffic.HandshakeBadCertificate},
		{"request, none, set", ClientAuthRequest, exchange.ForwardSet, nil, "", 0},
		{"request, none, append", ClientAuthRequest, exchange.ForwardAppend, nil, "", 0},
		{"request, valid", ClientAuthRequest, exchange.ForwardSet, good, element, 0},
		{"request, unknown authority", ClientAuthRequest, exchange.ForwardSet, unknown, "", traffic.HandshakeBadCertificate},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(row.name+" "+tls.VersionName(version), func(t *testing.T) {
				t.Parallel()
				settings := f.server
				settings.ClientCAFile, settings.ClientAuth, settings.ForwardClientCert = f.clientCA, row.auth, row.forward
				p := start(t, &Config{
					Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, TLS: &settings, Cluster: "web"}},
					Clusters:  []upstream.Config{cluster1("web", describe(t))},
				})
				c := f.client(t, "a.example", row.pair)
				c.MaxVersion = version
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at(p, 0)+"/", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("X-Forwarded-Client-Cert", "forged")
				response, err := httpClient(t, c).Do(request)
				if row.refused != 0 {
					if err == nil {
						_ = response.Body.Close()
						t.Errorf("the client was served")
					}
					wantHandshake(t, p, row.refused, 1)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if want := "|" + row.want + "|0"; string(body) != want {
					t.Errorf("the server learnt %s, want %s", body, want)
				}
			})
		}
	}
}

// TestTLSRoutes: routes by server name and by the client's identity.
func TestTLSRoutes(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	settings := f.server
	settings.ClientCAFile, settings.ClientAuth = f.clientCA, ClientAuthRequest
	respond := func(name string, m route.Match) route.Rule {
		return route.Rule{Name: name, Match: m, Respond: &route.Response{Status: 200, Body: name}}
	}
	p := start(t, &Config{Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, TLS: &settings, Routes: []route.Rule{
		respond("edge", route.Match{ClientIdentity: "spiffe://prod/*"}),
		respond("ops", route.Match{ClientIdentity: "ops", ServerName: "A.example"}),
		respond("known", route.Match{ClientIdentity: "*"}),
		respond("b", route.Match{ServerName: "b.example"}),
		respond("below", route.Match{ServerName: "*.example"}),
		respond("other", route.Match{}),
	}}}})
	edge := f.clients.Issue(t, certstest.Leaf{URIs: []string{"spiffe://prod/1"}, CommonName: "ops"})
	ops := f.clients.Issue(t, certstest.Leaf{CommonName: "ops"})
	for _, row := range []struct {
		name, want string
		pair       *certstest.Pair
	}{
		{"a.example", "edge", edge},
		{"a.example", "ops", ops},
		{"b.example", "known", ops},
		{"b.example", "b", nil},
		{"a.example", "below", nil},
		{"", "other", nil},
	} {
		c := f.client(t, row.name, row.pair)
		c.InsecureSkipVerify = row.name == "" //nolint:gosec // a client without a server name cannot verify one
		if got, err := get(httpClient(t, c), "https://"+at(p, 0)+"/"); err != nil || got != row.want {
			t.Errorf("server name %q: %q, %v, want %q", row.name, got, err, row.want)
		}
	}
}

// TestTLSRefused: handshakes that fail, by their result.
func TestTLSRefused(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	for _, row := range []struct {
		name string
		do   func(t *testing.T, addr string)
		want traffic.Handshake
	}{
		{"cleartext", func(t *testing.T, addr string) {
			if body, err := get(http.DefaultClient, "http://"+addr+"/"); err == nil {
				t.Errorf("a cleartext client got %q", body)
			}
		}, traffic.HandshakeNotTLS},
		{"protocol", func(t *testing.T, addr string) {
			c := f.client(t, "a.example", nil)
			c.NextProtos = []string{"h3"}
			dialTLS(t, addr, c, "no application protocol")
		}, traffic.HandshakeNoProtocol},
		{"version", func(t *testing.T, addr string) {
			c := f.client(t, "a.example", nil)
			c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
			dialTLS(t, addr, c, "protocol version not supported")
		}, traffic.HandshakeNoVersion},
		{"name", func(t *testing.T, addr string) {
			dialTLS(t, addr, f.client(t, "c.example", nil), "not c.example")
		}, traffic.HandshakeRefused},
		{"closed", func(t *testing.T, addr string) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		}, traffic.HandshakeClosed},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, &Config{
				Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, TLS: &f.server, Cluster: "web"}},
				Clusters:  []upstream.Config{cluster1("web", describe(t))},
			})
			row.do(t, at(p, 0))
			wantHandshake(t, p, row.want, 1)
			if n := p.Snapshot().Traffic.Listeners[0].Accepted; n != 0 {
				t.Errorf("%d connections count as accepted by the protocol", n)
			}
		})
	}
}

// dialTLS expects that a handshake fails with an error that contains want.
func dialTLS(t *testing.T, addr string, c *tls.Config, want string) {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", addr, c)
	if err == nil {
		_ = conn.Close()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the client got %v, want %q", err, want)
	}
}

// TestTLSReload: a reload turns TLS on and off, and sessions survive one that leaves the TLS settings as they are.
func TestTLSReload(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	server := describe(t)
	config := func(settings *ListenerTLS, address string) *Config {
		return &Config{
			Loops:     2,
			Listeners: []Listener{{Address: address, Protocol: HTTP1, TLS: settings, Cluster: "web"}},
			Clusters:  []upstream.Config{cluster1("web", server)},
		}
	}
	p := start(t, config(nil, "127.0.0.1:0"))
	addr := at(p, 0)
	if got, err := get(http.DefaultClient, "http://"+addr+"/"); err != nil || got != "||2" {
		t.Fatalf("cleartext: %q, %v", got, err)
	}
	c := f.client(t, "a.example", nil)
	c.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	for i := range 2 {
		settings := f.server
		if err := p.Reload(config(&settings, "127.0.0.1:0")); err != nil {
			t.Fatal(err)
		}
		client := httpClient(t, c)
		response, err := client.Get("https://" + addr + "/")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.TLS.DidResume != (i > 0) {
			t.Errorf("connection %d: resumed is %v", i, response.TLS.DidResume)
		}
	}
	missing := f.server
	missing.ClientCAFile = "missing.pem"
	if err := p.Reload(config(&missing, "127.0.0.1:0")); err == nil || !strings.Contains(err.Error(), "listeners[0].tls.client_ca_file") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := get(httpClient(t, c), "https://"+addr+"/"); err != nil {
		t.Errorf("after a refused reload: %v", err)
	}
	if err := p.Reload(config(nil, "127.0.0.1:0")); err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	if got, err := get(http.DefaultClient, "http://"+addr+"/"); err != nil || got != "||2" {
		t.Errorf("cleartext again: %q, %v", got, err)
	}
}

// TestTLSBolt: a client of Bolt over TLS.
func TestTLSBolt(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	p := start(t, &Config{
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: Bolt, TLS: &f.server, Cluster: "calls"}},
		Clusters:  []upstream.Config{cluster1("calls", echo(t))},
	})
	c := f.client(t, "a.example", nil)
	c.NextProtos = nil
	conn, err := tls.Dial("tcp", at(p, 0), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := callOn(conn); err != nil {
		t.Error(err)
	}
}

// TestTLSProtocols: ALPN decides the protocol of a listener that speaks several. Servers of each protocol learn that the
// client speaks https, and of its certificate.
func TestTLSProtocols(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	edge := f.clients.Issue(t, certstest.Leaf{Names: []string{"edge.example"}})
	element := fmt.Sprintf(`Hash=%x;Subject="";DNS=edge.example`, sha256.Sum256(edge.Cert.Raw))
	for _, row := range []struct {
		protocol Protocol
		offered  []string
		want     string // protocol of the response; empty: the handshake fails
	}{
		{HTTP, []string{"h2", "http/1.1"}, "HTTP/2.0"},
		{HTTP, []string{"http/1.1"}, "HTTP/1.1"},
		{HTTP2, []string{"h2", "http/1.1"}, "HTTP/2.0"},
		{HTTP1, []string{"h2", "http/1.1"}, "HTTP/1.1"},
		{HTTP1, []string{"h2"}, ""},
	} {
		for _, server := range []upstream.Protocol{upstream.HTTP1, upstream.HTTP2} {
			for mode, want := range map[exchange.ForwardClientCert]string{
				"": "https||0", exchange.ForwardSet: "https|" + element + "|0", exchange.ForwardAppend: "https|forged, " + element + "|0",
			} {
				settings := f.server
				settings.ClientCAFile, settings.ForwardClientCert = f.clientCA, mode
				l := Listener{Address: "127.0.0.1:0", Protocol: row.protocol, TLS: &settings, Cluster: "web"}
				l.HTTP1.ForwardedFor, l.HTTP2.ForwardedFor = true, true
				cluster := cluster1("web", describe(t))
				cluster.Protocol = server
				p := start(t, &Config{Listeners: []Listener{l}, Clusters: []upstream.Config{cluster}})
				c := f.client(t, "a.example", edge)
				c.NextProtos = row.offered
				transport := &http.Transport{TLSClientConfig: c, Protocols: new(http.Protocols)}
				transport.Protocols.SetHTTP1(slices.Contains(row.offered, "http/1.1"))
				transport.Protocols.SetHTTP2(slices.Contains(row.offered, "h2"))
				t.Cleanup(transport.CloseIdleConnections)
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at(p, 0)+"/", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("X-Forwarded-Client-Cert", "forged")
				response, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Do(request)
				if row.want == "" {
					if err == nil {
						_ = response.Body.Close()
						t.Errorf("%s, %q: a handshake without a common protocol succeeded", row.protocol, row.offered)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s, %q, server of %s: %v", row.protocol, row.offered, server, err)
				}
				body, _ := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if response.Proto != row.want || string(body) != want {
					t.Errorf("%s, %q, server of %s: %s %s, want %s %s", row.protocol, row.offered, server, response.Proto, body, row.want, want)
				}
			}
		}
	}
}

// TestTLSUpgrade: a connection over TLS becomes a tunnel, whose ends close one after the other.
func TestTLSUpgrade(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	server := serve(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(c, r)
	})
	p := start(t, &Config{
		Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, TLS: &f.server, Cluster: "web"}},
		Clusters:  []upstream.Config{cluster1("web", server)},
	})
	conn, err := tls.Dial("tcp", at(p, 0), f.client(t, "a.example", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil) //nolint:bodyclose // a 101 has no body
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", response, err)
	}
	want := strings.Repeat("0123456789abcdef", 20_000)
	go func() {
		_, _ = io.WriteString(conn, want)
		_ = conn.CloseWrite()
	}()
	if got, err := io.ReadAll(r); err != nil || string(got) != want {
		t.Errorf("%d bytes came back of %d, or others: %v", len(got), len(want), err)
	}
}

// TestTLSCheck: the errors name the field.
func TestTLSCheck(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	for _, row := range []struct {
		field  string
		change func(*ListenerTLS)
	}{
		{"certificates[0].cert_file", func(l *ListenerTLS) { l.Certificates = []Certificate{{"", "x"}} }},
		{"certificates[0].key_file", func(l *ListenerTLS) { l.Certificates = []Certificate{{"x", ""}} }},
		{"certificates[1].key_file", func(l *ListenerTLS) {
			l.Certificates = []Certificate{f.server.Certificates[0], {f.server.Certificates[0].CertFile, f.server.Certificates[1].KeyFile}}
		}},
		{"client_ca_file", func(l *ListenerTLS) { l.ClientCAFile = "missing.pem" }},
		{"client_ca_file", func(l *ListenerTLS) { l.ClientAuth = ClientAuthRequire }},
		{"client_ca_file", func(l *ListenerTLS) { l.ClientAuth, l.ClientCAFile = ClientAuthNone, f.clientCA }},
		{"client_auth", func(l *ListenerTLS) { l.ClientAuth = "maybe" }},
		{"min_version", func(l *ListenerTLS) { l.MinVersion = "1.1" }},
		{"session_tickets", func(l *ListenerTLS) { l.SessionTickets = "true" }},
		{"forward_client_cert", func(l *ListenerTLS) { l.ForwardClientCert = "all" }},
		{"forward_client_cert", func(l *ListenerTLS) { l.ForwardClientCert = exchange.ForwardSet }},
	} {
		settings := f.server
		row.change(&settings)
		cfg := &Config{
			Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, TLS: &settings, Cluster: "web"}},
			Clusters:  []upstream.Config{cluster1("web", "127.0.0.1:1")},
		}
		if err := cfg.Check(nil); err == nil || !strings.Contains(err.Error(), "listeners[0].tls."+row.field+":") {
			t.Errorf("%s: %v", row.field, err)
		}
	}
	none := &Config{Loops: 1, Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP1, TLS: &ListenerTLS{}, Cluster: "web"}}, Clusters: []upstream.Config{cluster1("web", "127.0.0.1:1")}}
	if p, err := New(none, nil, nil); err == nil || !strings.Contains(err.Error(), "tls.certificates") {
		t.Errorf("no certificate: %v", err)
		if p != nil {
			_ = p.Shutdown(t.Context())
		}
	}
}
