package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/certs/certstest"
)

// The certificate is chosen by name, then by what the client supports.
func TestChoice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := certstest.NewCA(t, "one")
	leaves := map[string]certstest.Leaf{
		"default": {Names: []string{"default.example"}},
		"exact":   {Names: []string{"a.Apps.example"}},
		"wild":    {Names: []string{"*.apps.example"}},
		"ecdsa":   {Names: []string{"both.example"}},
		"rsa":     {Names: []string{"both.example"}, RSA: true},
	}
	var files []certs.Files
	names := map[string]string{} // by serial number
	for _, name := range []string{"default", "wild", "exact", "ecdsa", "rsa"} {
		pair := ca.Issue(t, leaves[name])
		names[pair.Cert.SerialNumber.String()] = name
		cert, key := pair.Write(t, dir, name)
		files = append(files, certs.Files{CertFile: cert, KeyFile: key})
	}
	server, err := certs.NewStore(nil).Server(config(), files, "")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	onlyRSA := []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
	for _, row := range []struct {
		name   string
		suites []uint16 // TLS 1.2 with these suites
		want   string
	}{
		{"", nil, "default"},
		{"unknown.example", nil, "default"},
		{"a.apps.example", nil, "exact"},
		{"A.APPS.EXAMPLE", nil, "exact"},
		{"b.apps.example", nil, "wild"},
		{"apps.example", nil, "default"},
		{"c.b.apps.example", nil, "default"},
		{"both.example", nil, "ecdsa"},
		{"both.example", onlyRSA, "rsa"},
		{"", onlyRSA, "rsa"},
	} {
		client := &tls.Config{ServerName: row.name, InsecureSkipVerify: true, CipherSuites: row.suites}
		if row.suites != nil {
			client.MaxVersion = tls.VersionTLS12
		}
		_, state, err := handshake(t, server.Config(), client)
		if err != nil {
			t.Errorf("%q: %v", row.name, err)
			continue
		}
		if got := names[state.PeerCertificates[0].SerialNumber.String()]; got != row.want {
			t.Errorf("%q with suites %v: %s, want %s", row.name, row.suites, got, row.want)
		}
	}
}

// A session whose client certificate comes from a removed CA is not resumed, in both versions of TLS.
func TestResumeAfterClientCARemoved(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			servers, old, other := certstest.NewCA(t, "servers"), certstest.NewCA(t, "old"), certstest.NewCA(t, "other")
			certFile, keyFile := servers.Issue(t, named).Write(t, dir, "a")
			caFile := old.Write(t, dir, "clients")
			store := certs.NewStore(nil)
			base := config()
			base.ClientAuth = tls.RequireAndVerifyClientCert
			server, err := store.Server(base, []certs.Files{{CertFile: certFile, KeyFile: keyFile}}, caFile)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			certificate := old.Issue(t, certstest.Leaf{CommonName: "client"}).TLS(t)
			client := &tls.Config{
				RootCAs: servers.Pool(), ServerName: "a.example", MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(8),
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil },
			}
			resumed := func(want bool, when string) {
				t.Helper()
				at, from, err := handshake(t, server.Config(), client)
				if err != nil || from.DidResume != want || len(at.VerifiedChains) == 0 {
					t.Fatalf("%s: resumed=%t with %d chains, %v; want %t", when, from.DidResume, len(at.VerifiedChains), err, want)
				}
			}
			resumed(false, "at first")
			resumed(true, "afterwards")

			// A new certificate of the server leaves the sessions as they are.
			servers.Issue(t, named).Write(t, dir, "a")
			store.Refresh()
			resumed(true, "with another certificate of the server")

			// Both CAs.
			certstest.Replace(t, caFile, append(other.PEM[:len(other.PEM):len(other.PEM)], old.PEM...))
			store.Refresh()
			resumed(true, "with a further CA")

			// The old CA is gone: no resumption, and the certificate is refused.
			other.Write(t, dir, "clients")
			store.Refresh()
			var unknown x509.UnknownAuthorityError
			if _, _, err := handshake(t, server.Config(), client); !errors.As(err, &unknown) {
				t.Fatalf("after the CA was removed: %v, want an unknown authority", err)
			}

			// With a certificate of the other CA, the same client does a full handshake, and can resume that.
			certificate = other.Issue(t, certstest.Leaf{CommonName: "client"}).TLS(t)
			resumed(false, "with a certificate of the other CA")
			resumed(true, "with a certificate of the other CA, afterwards")
		})
	}
}

// A dialer's configuration follows its files, and so do its sessions.
func TestClient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servers, clients, other := certstest.NewCA(t, "servers"), certstest.NewCA(t, "clients"), certstest.NewCA(t, "other")
	certFile, keyFile := clients.Issue(t, certstest.Leaf{CommonName: "first"}).Write(t, dir, "client")
	caFile := servers.Write(t, dir, "servers")
	store := certs.NewStore(nil)
	base := config()
	base.ServerName = "a.example"
	client, err := store.Client(base, certs.Files{CertFile: certFile, KeyFile: keyFile}, caFile, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	// The server names another CA than the client's: the certificate is sent nevertheless.
	server := &tls.Config{
		Certificates: []tls.Certificate{servers.Issue(t, named).TLS(t)},
		ClientAuth:   tls.RequireAnyClientCert, ClientCAs: other.Pool(),
	}
	shows := func(want string) {
		t.Helper()
		at, _, err := handshake(t, server, client.Config())
		if err != nil || at.PeerCertificates[0].Subject.CommonName != want {
			t.Fatalf("got %v, %v; want the client's certificate %s", at.PeerCertificates, err, want)
		}
	}
	shows("first")
	if _, state, err := handshake(t, server, client.Config()); err != nil || !state.DidResume {
		t.Errorf("the second connection is not resumed: %v", err)
	}
	before := client.Config()
	clients.Issue(t, certstest.Leaf{CommonName: "second"}).Write(t, dir, "client")
	store.Refresh()
	shows("second")
	if client.Config() == before {
		t.Error("the configuration is the same after its files have changed")
	}
	other.Write(t, dir, "servers")
	store.Refresh()
	if _, _, err := handshake(t, server, client.Config()); err == nil {
		t.Error("the server's certificate is accepted after its CA was removed")
	}
	if got := stat(t, store, caFile); got.Role != certs.CA || got.Reloads != 1 {
		t.Errorf("got %+v, want a CA with one reload", got)
	}
}
