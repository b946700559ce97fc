package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
)

// ask sends a GET with a token over TLS that trusts pool.
func ask(t *testing.T, url, token string, pool *x509.CertPool) (status int, err error) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer c.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

func writeSecret(t *testing.T, file, token string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAdminBeyondLoopback: the server has TLS by the node's certificate, and asks for the token. A node with a proxy only makes
// the certificate, too.
func TestAdminBeyondLoopback(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	writeSecret(t, token, "token-of-the-admin-server")
	for _, streams := range []bool{true, false} {
		cfg := quiet(t)
		if !streams {
			cfg.Listeners, cfg.Proxy = nil, inFrontOf(web(t, "a server"))
		}
		cfg.Admin = config.Admin{Address: "0.0.0.0:0", TokenFile: token, MetricsAddress: "127.0.0.1:0"}
		n := build(t, cfg)
		stop := run(t, n)
		ca, err := os.ReadFile(filepath.Join(cfg.DataDir, pki.CAFile))
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(ca)
		_, port, _ := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(n.Admin(), "https://"), "/"))
		url := "https://127.0.0.1:" + port + "/"
		if status, err := ask(t, url+"metrics", "token-of-the-admin-server", pool); err != nil || status != 200 {
			t.Errorf("with the token: %d, %v", status, err)
		}
		if status, err := ask(t, url+"metrics", "", pool); err != nil || status != 401 {
			t.Errorf("without the token: %d, %v", status, err)
		}
		if _, err := ask(t, url+"metrics", "token-of-the-admin-server", x509.NewCertPool()); !errors.As(err, new(*tls.CertificateVerificationError)) {
			t.Errorf("a client that trusts another CA got %v", err)
		}
		if status, body := get(t, n.Metrics()); status != 200 || !strings.Contains(body, "ferry_config_last_reload_successful 1") {
			t.Errorf("the server for scrapers: %d", status)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestApplyAdmin changes addresses, token and certificate of the admin servers.
func TestApplyAdmin(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	writeSecret(t, token, "token-of-the-admin-server")
	ca := certstest.NewCA(t, "ca")
	certFile, keyFile := ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1", "localhost"}}).Write(t, dir, "admin")
	n := build(t, quiet(t))
	run(t, n)
	open := n.Admin()

	apply(t, n, func(c *config.Config) { c.Admin.TokenFile = token })
	if status, _ := get(t, open+"metrics"); status != 401 || n.Admin() != open {
		t.Errorf("without the new token: %d at %s, which was %s", status, n.Admin(), open)
	}
	writeSecret(t, token, "another-token-of-the-admin-server")
	apply(t, n, func(*config.Config) {})
	for text, want := range map[string]int{"token-of-the-admin-server": 401, "another-token-of-the-admin-server": 200} {
		if status, err := ask(t, open+"metrics", text, nil); err != nil || status != want {
			t.Errorf("%s: %d, %v, want %d", text, status, err, want)
		}
	}
	apply(t, n, func(c *config.Config) { c.Admin.CertFile, c.Admin.KeyFile = certFile, keyFile })
	if status, err := ask(t, n.Admin()+"ready", "", ca.Pool()); err != nil || status != 200 || !strings.HasPrefix(n.Admin(), "https://") {
		t.Errorf("with a certificate: %d, %v at %s", status, err, n.Admin())
	}

	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	err = n.Apply(changed(n, func(c *config.Config) { c.Admin.Address, c.Admin.MetricsAddress = "localhost:0", busy.Addr().String() }))
	var refused *Refused
	if !errors.As(err, &refused) || refused.Section != "admin" || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v, want a refusal of the busy port", err)
	}
	secured := n.Admin()
	apply(t, n, func(c *config.Config) {
		c.Admin = config.Admin{Address: "localhost:0", MetricsAddress: "127.0.0.1:0"}
		c.Proxy = inFrontOf(web(t, "a server"))
	})
	if status, _ := get(t, n.Admin()+"api/proxy"); status != 200 {
		t.Errorf("the new server: %d", status)
	}
	if status, body := get(t, n.Metrics()); status != 200 || !strings.Contains(body, "ferry_proxy_connections") {
		t.Errorf("the new server for scrapers: %d", status)
	}
	if _, err := ask(t, secured+"ping", "", ca.Pool()); err == nil {
		t.Error("the old server still responds")
	}
	apply(t, n, func(c *config.Config) { c.Admin, c.Proxy = config.Admin{}, nil })
	if n.Admin() != "" || n.Metrics() != "" {
		t.Errorf("got the servers %q and %q, want none", n.Admin(), n.Metrics())
	}
}

// TestApplyAdminCertificate: a node without a data directory refuses the first listener for streams, which needs a restart, also
// if the admin server of the same file needs the node's certificate.
func TestApplyAdminCertificate(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	writeSecret(t, token, "token-of-the-admin-server")
	cfg := quiet(t)
	listeners := cfg.Listeners
	cfg.Listeners, cfg.Proxy = nil, inFrontOf(web(t, "a server"))
	n := build(t, cfg)
	run(t, n)
	err := n.Apply(changed(n, func(c *config.Config) {
		c.Listeners = listeners
		c.Admin = config.Admin{Address: "0.0.0.0:0", TokenFile: token}
	}))
	var refused *Refused
	if !errors.As(err, &refused) || refused.Section != "listeners" {
		t.Errorf("got %v, want a refusal of the listeners", err)
	}
	apply(t, n, func(c *config.Config) { c.Admin = config.Admin{Address: "0.0.0.0:0", TokenFile: token} })
	if !strings.HasPrefix(n.Admin(), "https://") {
		t.Errorf("the admin server is at %s, want TLS", n.Admin())
	}
}
