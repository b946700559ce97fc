package upstream_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/upstream"
)

// Each kind of check uses the TLS of its cluster.
func TestProbeTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca, other := certstest.NewCA(t, "one"), certstest.NewCA(t, "other")
	caFile, otherFile := ca.Write(t, dir, "ca"), other.Write(t, dir, "other")
	certFile, keyFile := ca.Issue(t, certstest.Leaf{CommonName: "checker"}).Write(t, dir, "client")
	config := &tls.Config{
		Certificates: []tls.Certificate{ca.Issue(t, certstest.Leaf{Names: []string{"it.example", "127.0.0.1"}}).TLS(t)},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool(), MaxVersion: tls.VersionTLS12, // the handshake tells whether the certificate is refused
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version := r.URL.Path[1:]
		switch {
		case version == "host" && r.Host != "it.example":
			w.WriteHeader(http.StatusMisdirectedRequest)
		case strings.Contains(version, ".") && len(version) == 3 && r.Proto != "HTTP/"+version:
			w.WriteHeader(http.StatusHTTPVersionNotSupported)
		}
		if r.Header.Get("Content-Type") == "application/grpc" {
			grpcResponse(w, "\x00\x00\x00\x00\x02\x08\x01", "0")
		}
	}))
	web.TLS, web.EnableHTTP2, web.Config.ErrorLog = config.Clone(), true, log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	heartbeats := serve(t, "tcp", "127.0.0.1:0", func(raw net.Conn) {
		c := tls.Server(raw, config)
		f, err := readFrame(bufio.NewReader(c))
		if err == nil {
			_, _ = c.Write(bolt.AppendHeartbeatAck(nil, f))
		}
	})
	web1 := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	web1.TLS, web1.Config.ErrorLog = config.Clone(), web.Config.ErrorLog
	web1.StartTLS()
	defer web1.Close()
	over1, over2 := web1.Listener.Addr().String(), web.Listener.Addr().String()

	good := upstream.TLS{CAFile: caFile, CertFile: certFile, KeyFile: keyFile}
	named := good
	named.ServerName = "it.example"
	for _, row := range []struct {
		name     string
		at       string
		protocol upstream.Protocol
		health   upstream.Health
		tls      upstream.TLS
		want     string // expected error
	}{
		{"tcp", over2, "", upstream.Health{Kind: "tcp"}, good, ""},
		{"http", over2, "", upstream.Health{Kind: "http", Path: "/1.1"}, good, ""},
		{"http over HTTP/2", over2, upstream.HTTP2, upstream.Health{Kind: "http", Path: "/2.0?a=b"}, good, ""},
		{"http over HTTP/2, which the server chooses", over2, upstream.Auto, upstream.Health{Kind: "http", Path: "/2.0"}, good, ""},
		{"http over HTTP/1.1, which the server chooses", over1, upstream.Auto, upstream.Health{Kind: "http", Path: "/1.1"}, good, ""},
		{"http over HTTP/2, with another status", over2, upstream.HTTP2, upstream.Health{Kind: "http", Path: "/1.1"}, good, "status 505"},
		{"http, by name", over2, "", upstream.Health{Kind: "http", Path: "/host"}, named, ""},
		{"http over HTTP/2, by name", over2, upstream.HTTP2, upstream.Health{Kind: "http", Path: "/host"}, named, ""},
		{"http, by another name", over2, upstream.HTTP2, upstream.Health{Kind: "http", Path: "/host", Host: "other.example"}, named, "status 421"},
		{"grpc", over2, "", upstream.Health{Kind: "grpc"}, good, ""},
		{"bolt", heartbeats.String(), "", upstream.Health{Kind: "bolt"}, good, ""},
		{"another CA", over2, "", upstream.Health{Kind: "tcp"}, upstream.TLS{CAFile: otherFile}, "unknown authority"},
		{"another name", over2, "", upstream.Health{Kind: "http"}, upstream.TLS{CAFile: caFile, ServerName: "b.example"}, "not b.example"},
		{"no client certificate", over2, "", upstream.Health{Kind: "tcp"}, upstream.TLS{CAFile: caFile}, "remote error: tls: "},
		{"grpc without HTTP/2", over1, "", upstream.Health{Kind: "grpc"}, good, "no application protocol"},
		{"http without HTTP/2", over1, upstream.HTTP2, upstream.Health{Kind: "http"}, good, "no application protocol"},
	} {
		cfg := at(row.at)
		cfg.Protocol, cfg.TLS, cfg.Health = row.protocol, &row.tls, &row.health
		c, err := upstream.New(cfg, loops(t, 1), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err = c.ProbeAll(ctx)[0]
		cancel()
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
		c.Close()
	}
}

func readFrame(r *bufio.Reader) (bolt.Frame, error) {
	var data []byte
	for {
		b, err := r.ReadByte()
		if err != nil {
			return bolt.Frame{}, err
		}
		data = append(data, b)
		if f, need, err := bolt.Next(data, bolt.Limits{}); err != nil || need == 0 && len(data) == f.FrameLen() {
			return f, err
		}
	}
}
