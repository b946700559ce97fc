package node

import (
	"crypto/sha256"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
)

// browser returns an HTTP client that trusts the node, and always presents the certificate unless it is nil.
func browser(t *testing.T, n *Node, certificate *tls.Certificate) *http.Client {
	t.Helper()
	security, err := pki.ClientTLS(filepath.Join(n.config().DataDir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	if certificate != nil {
		security.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: security}, Timeout: 30 * time.Second}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// post publishes a message. It returns the status, or 0 if there is no response, and Access-Control-Allow-Origin.
func post(t *testing.T, c *http.Client, to, origin string) (status int, allowed string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader("1"))
	if err != nil {
		t.Fatal(err)
	}
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	response, err := c.Do(r)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Error(err)
	}
	return response.StatusCode, response.Header.Get("Access-Control-Allow-Origin")
}

// TestHTTPSCertificates: a certificate identifies the client of an https listener until the client CAs change.
func TestHTTPSCertificates(t *testing.T) {
	dir := t.TempDir()
	before, after := certstest.NewCA(t, "before"), certstest.NewCA(t, "after")
	listener := config.Listener{Address: "https://127.0.0.1:0", ClientCAFile: before.Write(t, dir, "before")}
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{listener}
	cfg.Identities = []config.Identity{
		{Name: "pump", CommonName: "pump-1", Publish: []string{"plant/pump"}, Subscribe: []string{"plant/#"}},
		{Name: "valve", CommonName: "valve-1", Publish: []string{"plant/valve"}},
	}
	n := build(t, cfg)
	run(t, n)
	tags := "https://" + addressOf(t, n, listener.Address) + "/v1/tags/"
	with := func(ca *certstest.CA, name string) *http.Client {
		certificate := ca.Issue(t, certstest.Leaf{CommonName: name}).TLS(t)
		return browser(t, n, &certificate)
	}
	expect := func(what string, c *http.Client, path string, want int) {
		t.Helper()
		if got, _ := post(t, c, tags+path, ""); got != want {
			t.Errorf("%s publishes on %s: status %d, want %d", what, path, got, want)
		}
	}
	certificate := before.Issue(t, certstest.Leaf{CommonName: "pump-1"}).TLS(t)
	pump := browser(t, n, &certificate)
	expect("pump", pump, "plant/valve", 403)
	expect("pump", pump, "plant/pump", 204)
	expect("valve", with(before, "valve-1"), "plant/valve", 204)
	expect("an unknown name", with(before, "stranger-1"), "plant/pump", 401)
	expect("a client without a certificate", browser(t, n, nil), "plant/pump", 401)
	expect("a client of another CA", with(after, "pump-1"), "plant/pump", 0)
	digest := sha256.Sum256(certificate.Certificate[0])
	for range 16 { // connections, which several loops serve
		expect("a token made from pump's certificate", browser(t, n, nil), "plant/pump?access_token="+url.QueryEscape("certificate "+string(digest[:])), 401)
	}

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tags+"plant%2F%23", nil)
	if err != nil {
		t.Fatal(err)
	}
	events, err := with(before, "pump-1").Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	if events.StatusCode != 200 {
		t.Fatalf("pump subscribes: status %d", events.StatusCode)
	}
	expect("pump", pump, "plant/pump", 204)
	apply(t, n, func(c *config.Config) {
		listener.ClientCAFile = after.Write(t, dir, "after")
		c.Listeners = []config.Listener{listener}
	})
	if text, err := io.ReadAll(events.Body); err != nil || !strings.Contains(string(text), "event: end\n") {
		t.Errorf("the stream of a client of the old CA ends with %q, %v", text, err)
	}
	expect("a client of the old CA, on its open connection,", pump, "plant/pump", 401)
	expect("a client of the old CA", with(before, "pump-1"), "plant/pump", 0)
	expect("a client of the new CA", with(after, "pump-1"), "plant/pump", 204)
}

// TestApplyOrigins changes which pages may use an http listener.
func TestApplyOrigins(t *testing.T) {
	const a, b = "https://a.example", "https://b.example"
	listener := config.Listener{Address: "http://127.0.0.1:0", Anonymous: "guest", HTTP: config.HTTP{Origins: []string{a}}}
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{listener}
	cfg.Identities = []config.Identity{{Name: "guest", Publish: []string{"plant/#"}}}
	n := build(t, cfg)
	run(t, n)
	at, c := "http://"+addressOf(t, n, listener.Address)+"/v1/tags/plant/1", browser(t, n, nil)
	for _, step := range []struct{ origins, permitted []string }{
		{listener.HTTP.Origins, []string{a}}, {[]string{b}, []string{b}}, {[]string{a, b}, []string{a, b}}, {nil, nil},
	} {
		listener.HTTP.Origins = step.origins
		apply(t, n, func(c *config.Config) { c.Listeners = []config.Listener{listener} })
		for _, origin := range []string{a, b} {
			status, allowed := post(t, c, at, origin)
			wantStatus, wantAllowed := 403, ""
			if slices.Contains(step.permitted, origin) {
				wantStatus, wantAllowed = 204, origin
			}
			if status != wantStatus || allowed != wantAllowed {
				t.Errorf("origins %q: a page of %s gets %d and permission for %q, want %d and %q", step.origins, origin, status, allowed, wantStatus, wantAllowed)
			}
		}
	}
}

// TestTLSOfDevices: min_version lets devices in that have no TLS 1.3, by suites with authenticated encryption only, and a reload changes it.
func TestTLSOfDevices(t *testing.T) {
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{{Address: "mqtts://127.0.0.1:0"}}
	n := build(t, cfg)
	run(t, n)
	dial := func(suite uint16) error {
		security, err := pki.ClientTLS(filepath.Join(n.config().DataDir, pki.CAFile))
		if err != nil {
			t.Fatal(err)
		}
		security.MinVersion, security.MaxVersion, security.CipherSuites = tls.VersionTLS12, tls.VersionTLS12, []uint16{suite}
		c, err := tls.DialWithDialer(&net.Dialer{Timeout: 30 * time.Second}, "tcp", addressOf(t, n, "mqtts://127.0.0.1:0"), security)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	if err := dial(tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256); err == nil {
		t.Error("TLS 1.2 is accepted without min_version")
	}
	if err := n.Apply(changed(n, func(c *config.Config) { c.Listeners[0].MinVersion = "1.2" })); err != nil {
		t.Fatal(err)
	}
	if err := dial(tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256); err != nil {
		t.Errorf("min_version 1.2: %v", err)
	}
	if err := dial(tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA); err == nil {
		t.Error("a suite without authenticated encryption is accepted")
	}
}
