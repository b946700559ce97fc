package node

import (
	"context"
	"crypto/tls"
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/tcp"
)

// TestCertificateFilesReload replaces the certificate and the client CA of tls and quic listeners while the node runs.
func TestCertificateFilesReload(t *testing.T) {
	dir := t.TempDir()
	servers, before, after := certstest.NewCA(t, "servers"), certstest.NewCA(t, "before"), certstest.NewCA(t, "after")
	leaf := certstest.Leaf{Names: []string{"127.0.0.1"}}
	first, second := servers.Issue(t, leaf), servers.Issue(t, leaf)
	certFile, keyFile := first.Write(t, dir, "node")
	caFile := before.Write(t, dir, "clients")
	cfg := quiet(t)
	cfg.Listeners = nil
	for _, scheme := range []string{"tls", "quic"} {
		cfg.Listeners = append(cfg.Listeners, config.Listener{
			Address: scheme + "://127.0.0.1:0", CertFile: certFile, KeyFile: keyFile, ClientCAFile: caFile,
		})
	}
	cfg.Identities = []config.Identity{{Name: "pump", CommonName: "pump-1", Publish: []string{"plant/pump"}}}
	n := build(t, cfg)
	run(t, n)
	addresses := n.Addresses()

	dial := func(i int, clients *certstest.CA, serial *int64) error {
		security := &tls.Config{
			MinVersion: tls.VersionTLS13, RootCAs: servers.Pool(),
			Certificates: []tls.Certificate{clients.Issue(t, certstest.Leaf{CommonName: "pump-1"}).TLS(t)},
			VerifyConnection: func(s tls.ConnectionState) error {
				*serial = s.PeerCertificates[0].SerialNumber.Int64()
				return nil
			},
		}
		var over transport.Transport = tcp.NewTLS(&tcp.Config{ClientTLS: security})
		_, addr, _ := strings.Cut(addresses[i], "://")
		if strings.HasPrefix(addresses[i], "quic") {
			over = quic.New(&quic.Config{ClientTLS: security})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, err := stream.Dial(ctx, over, addr, &stream.Config{Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			closeQuietly(c)
		}
		return err
	}
	check := func(good, bad *certstest.CA, want *certstest.Pair) {
		t.Helper()
		for i := range addresses {
			var serial int64
			if err := dial(i, good, &serial); err != nil {
				t.Errorf("%s: a client of %s: %v", addresses[i], good.Cert.Subject, err)
			}
			if serial != want.Cert.SerialNumber.Int64() {
				t.Errorf("%s: certificate %d, want %d", addresses[i], serial, want.Cert.SerialNumber)
			}
			if err := dial(i, bad, &serial); err == nil {
				t.Errorf("%s: a client of %s is accepted", addresses[i], bad.Cert.Subject)
			}
		}
	}
	check(before, after, first)
	second.Write(t, dir, "node")
	after.Write(t, dir, "clients")
	n.certs.Refresh()
	check(after, before, second)
	if _, body := get(t, n.Admin()+"metrics"); !strings.Contains(body, `ferry_certificate_reloads_total{file="`+certFile+`",kind="certificate",result="success"} 1`) {
		t.Error("the metrics do not show the reload")
	}
}
