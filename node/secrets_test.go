package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/format/all"
	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

// secretsYAML is a node with every field that holds or names a secret.
const secretsYAML = `
listeners:
  - {address: 'tcp://127.0.0.1:0'}
  - {address: 'tls://127.0.0.1:0', cert_file: 'DIR/node.pem', key_file: 'DIR/node.key'}
identities:
  - {name: inline, token: MARKED-inline-token-0123456789, publish: ['#'], subscribe: ['#']}
  - {name: filed, token_file: DIR/token, publish: ['#'], subscribe: ['#']}
functions: [{name: worker, run: obey, cpu: worker, observe: ['do/#']}]
admin: {address: '127.0.0.1:0', token_file: DIR/admin-token, cert_file: 'DIR/node.pem', key_file: 'DIR/node.key', metrics_address: '127.0.0.1:0'}
proxy:
  loops: 1
  access_log: {file: DIR/access.log}
  listeners:
    - {address: '127.0.0.1:0', protocol: http1, cluster: web}
    - {name: secure, address: '127.0.0.1:0', protocol: http1, cluster: secure, tls: {certificates: [{cert_file: 'DIR/proxy.pem', key_file: 'DIR/proxy.key'}]}}
  clusters:
    - {name: web, endpoints: [{address: 'SERVER'}]}
    - {name: secure, endpoints: [{address: 'SERVER'}], tls: {ca_file: 'DIR/ca.pem', cert_file: 'DIR/client.pem', key_file: 'DIR/client.key'}}
log: {level: debug}
data_dir: DIR/data
`

// transcript is everything that a node shows, as one text.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// check reports each secret that was shown, with what is around it.
func (s *transcript) check(t *testing.T, secrets map[string]string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	for name, secret := range secrets {
		if len(secret) < 12 {
			t.Fatalf("%s is %q: too short to be told from other text", name, secret)
		}
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s is shown: ...%q...", name, text[max(i-100, 0):min(i+100, len(text))])
		}
	}
}

// TestSecretsAreNotShown starts a node with marked secrets, at log level debug, and searches for them in everything that it shows:
// log, access log, all pages of the admin server, profiles, errors of configurations and responses of refused clients.
func TestSecretsAreNotShown(t *testing.T) {
	dir := t.TempDir()
	ca := certstest.NewCA(t, "ca")
	pair := ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}})
	_, keyFile := pair.Write(t, dir, "node")
	_, proxyKey := ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}}).Write(t, dir, "proxy")
	_, clientKey := ca.Issue(t, certstest.Leaf{CommonName: "the proxy"}).Write(t, dir, "client")
	ca.Write(t, dir, "ca")
	writeSecret(t, filepath.Join(dir, "token"), "MARKED-token-of-a-file")
	writeSecret(t, filepath.Join(dir, "admin-token"), "MARKED-token-of-the-admin-server")
	text := strings.NewReplacer("DIR", dir, "SERVER", web(t, "a server")).Replace(secretsYAML)
	cfg, err := config.Parse("node.yaml", []byte(text), config.Program{Functions: []string{"obey"}, Formats: all.Formats()})
	if err != nil {
		t.Fatal(err)
	}
	var shown transcript
	x := extensions()
	x.Log = slog.New(slog.NewTextHandler(&shown, &slog.HandlerOptions{Level: slog.LevelDebug}))
	n, err := Build(cfg, x)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, n)

	secrets := map[string]string{
		"the token of the configuration": "MARKED-inline-token", "the token of a file": "MARKED-token-of-a-file",
		"the admin token": "MARKED-token-of-the-admin-server", "the hash of a token": "MARKED-hash-of-a-token",
		"a wrong token": "MARKED-wrong-token", "a proxied Authorization": "MARKED-proxied-authorization",
		"a proxied cookie": "MARKED-cookie", "a proxied query": "MARKED-query-string", "a proxied body": "MARKED-body-of-a-request",
		"the local token": n.id.Token(),
	}
	for name, file := range map[string]string{
		"the key of a listener": keyFile, "the key of a listener of the proxy": proxyKey, "the key of a cluster": clientKey,
		"the node's key": filepath.Join(dir, "data", pki.ServerKeyFile), "the CA's key": filepath.Join(dir, "data", pki.CAKeyFile),
	} {
		pem, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		secrets[name] = strings.Split(string(pem), "\n")[2] // a line that certificates do not share
	}

	showStreams(t, n, &shown)
	showProxied(t, n, &shown)
	showSecureProxied(t, n, ca, &shown)
	showAdmin(t, n, ca, &shown)
	showBrokenConfigurations(t, n, dir, text, &shown)
	if err := stop(); err != nil {
		t.Error(err)
	}
	access, err := os.ReadFile(filepath.Join(dir, "access.log"))
	if err != nil || !bytes.Contains(access, []byte(`"path":"/page"`)) {
		t.Errorf("the access log: %s, %v", access, err)
	}
	_, _ = shown.Write(access)
	shown.check(t, secrets)
}

// showStreams connects with right and wrong tokens, and makes a worker fail.
func showStreams(t *testing.T, n *Node, shown *transcript) {
	t.Helper()
	addr := addressOf(t, n, "tcp://127.0.0.1:0")
	for _, token := range []string{"MARKED-inline-token-0123456789", "MARKED-token-of-a-file", n.id.Token()} {
		c := dialTCP(t, addr, token, nil)
		send(t, c, "do/1", "fail")
		send(t, c, "nothing/observes", "a")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := stream.Dial(ctx, tcp.New(nil), addr, &stream.Config{Name: "wrong", Token: []byte("MARKED-wrong-token-0123456789")})
	fmt.Fprintln(shown, err)
	send(t, dialTCP(t, addr, n.id.Token(), nil), "do/2", "die")
}

// showProxied sends requests with secrets through the proxy: a good one, one that is refused, and one that is no HTTP.
func showProxied(t *testing.T, n *Node, shown *transcript) {
	t.Helper()
	for _, path := range []string{"page?access_token=MARKED-query-string", "page?a=1&MARKED-query-string#MARKED-query-string"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, through(t, n)+path, strings.NewReader("MARKED-body-of-a-request"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer MARKED-proxied-authorization")
		r.Header.Set("Cookie", "session=MARKED-cookie")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(shown, response.Body)
		response.Body.Close()
	}
	_, addr, _ := strings.Cut(strings.TrimSuffix(through(t, n), "/"), "://")
	c, err := tcp.New(nil).Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /page?MARKED-query-string HTTP/1.1\r\nHost: a\r\nAuthorization: MARKED-proxied-authorization\r\nContent-Length: x MARKED-body-of-a-request\r\n\r\n")
	_, _ = io.Copy(shown, c)
}

// showSecureProxied sends a request over TLS to a server that is expected to speak TLS and does not, and a handshake that fails.
func showSecureProxied(t *testing.T, n *Node, ca *certstest.CA, shown *transcript) {
	t.Helper()
	addresses := n.Addresses()
	url := "https://" + strings.TrimPrefix(addresses[len(addresses)-1], "http1://") + "/page"
	for _, pool := range []*x509.CertPool{ca.Pool(), x509.NewCertPool()} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: 20 * time.Second}
		response, err := client.Get(url) //nolint:noctx // the client has a timeout
		if err != nil {
			fmt.Fprintln(shown, err)
			continue
		}
		if response.StatusCode != http.StatusBadGateway {
			t.Errorf("a server without TLS: got %s, want 502", response.Status)
		}
		_, _ = io.Copy(shown, response.Body)
		response.Body.Close()
		client.CloseIdleConnections()
	}
}

// showAdmin gets every page of the admin servers, with the token and without.
func showAdmin(t *testing.T, n *Node, ca *certstest.CA, shown *transcript) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	paths := []string{
		"", "app.js", "ping", "ready", "metrics", "none", "api/functions", "api/proxy", "api/stream?tag=", "api/functions/MARKED/start",
		"debug/pprof/", "debug/pprof/cmdline", "debug/pprof/symbol", "debug/pprof/profile?seconds=1", "debug/pprof/trace?seconds=1",
	}
	for _, p := range []string{"allocs", "block", "goroutine", "heap", "mutex", "threadcreate"} {
		paths = append(paths, "debug/pprof/"+p, "debug/pprof/"+p+"?debug=1", "debug/pprof/"+p+"?debug=2")
	}
	for _, token := range []string{"MARKED-token-of-the-admin-server", "MARKED-wrong-token"} {
		for _, path := range paths {
			for _, base := range []string{n.Admin(), strings.TrimSuffix(n.Metrics(), "metrics")} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.SetBasicAuth("MARKED-wrong-token", token)
				response, err := client.Do(r)
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				fmt.Fprintln(shown, response.Status, response.Header)
				_, _ = io.Copy(shown, response.Body)
				response.Body.Close()
			}
		}
	}
}

// showBrokenConfigurations applies configurations with errors beside secrets, as a file and as a reload.
func showBrokenConfigurations(t *testing.T, n *Node, dir, text string, shown *transcript) {
	t.Helper()
	for _, change := range []struct{ from, to string }{
		{"publish: ['#']", "publsh: ['#']"},
		{"publish: ['#']", "publish: ['#/a']"},
		{"publish: ['#']", "publish: '#"},
		{"token: MARKED-inline-token-0123456789", "toke: MARKED-inline-token-0123456789"},
		{"token: MARKED-inline-token-0123456789", "token: sha256:MARKED-hash-of-a-token"},
		{"token: MARKED-inline-token-0123456789", "token: [MARKED-inline-token-0123456789]"},
		{"token: MARKED-inline-token-0123456789", "token: MARKED-inline-token-0123456789, token: MARKED-inline-token"},
		{"token_file: DIR/token", "token: MARKED-inline-token-0123456789"}, // twice the same
		{"token_file: DIR/token", "token_file: DIR/node.key"},
		{"token_file: DIR/admin-token", "token_file: DIR/node.key"},
		{"key_file: 'DIR/node.key'", "key_file: DIR/token"},
		{"key_file: 'DIR/proxy.key'", "key_file: DIR/client.key"},
		{"key_file: 'DIR/proxy.key'", "key_file: DIR/token"},
		{"key_file: 'DIR/client.key'", "key_file: DIR/proxy.key"},
		{"cert_file: 'DIR/client.pem'", "cert_file: DIR/client.key"},
		{"ca_file: 'DIR/ca.pem'", "ca_file: DIR/client.key"},
		{"data_dir: DIR/data", "data_dir: DIR/other"},
	} {
		broken := strings.Replace(text, strings.ReplaceAll(change.from, "DIR", dir), strings.ReplaceAll(change.to, "DIR", dir), 1)
		if broken == text {
			t.Fatalf("%s is not in the configuration", change.from)
		}
		file := filepath.Join(dir, "broken.yaml")
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		next, err := config.Load(file, n.extensions.Program())
		if err == nil {
			err = n.Apply(next)
		}
		if err == nil && change.to != "token_file: DIR/node.key" {
			t.Errorf("%s is accepted", change.to)
		}
		fmt.Fprintln(shown, err)
		w := watcher{node: n, file: file}
		w.reload()
	}
}
