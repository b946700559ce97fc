package web_test

import (
	"crypto/sha256"
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/web"
	"example.com/ferry/internal/certs/certstest"
)

// TestTokenIsNoCertificate sends tokens that look like a certificate to all loops, while a client with that certificate publishes.
func TestTokenIsNoCertificate(t *testing.T) {
	ids, err := broker.NewIdentities([]broker.Credential{{Identity: broker.Identity{Name: "machine", Publish: []string{"a"}}, CommonName: "machine"}})
	if err != nil {
		t.Fatal(err)
	}
	ca := certstest.NewCA(t, "ca")
	pair := ca.Issue(t, certstest.Leaf{CommonName: "machine"})
	server := ca.Issue(t, certstest.Leaf{CommonName: "server", Names: []string{"127.0.0.1"}})
	r := newRig(t, broker.Config{Identify: ids.Identify}, web.Config{Config: edge.Config{TLS: &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{server.TLS(t)}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: ca.Pool(),
	}}})
	post := func(query string, certificates ...tls.Certificate) int {
		transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: ca.Pool(), Certificates: certificates}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+r.addr+"/v1/tags/a"+query, strings.NewReader("1"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for range 32 {
		if status := post("", pair.TLS(t)); status != 204 {
			t.Fatalf("the client with the certificate: status %d", status)
		}
	}
	sum := sha256.Sum256(pair.Cert.Raw)
	for range 32 {
		if status := post("?access_token=" + url.QueryEscape("certificate "+string(sum[:]))); status != 401 {
			t.Fatalf("a token with the hash of the certificate: status %d, want 401", status)
		}
	}
}
