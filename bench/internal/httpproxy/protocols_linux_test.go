package httpproxy

import (
	"testing"
	"time"

	"example.com/ferry/bench/internal/keepalive"
	"example.com/ferry/bench/internal/keypair"
)

// Each program forwards between all protocols that it says it supports.
func TestProtocols(t *testing.T) {
	files, err := keypair.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	peers, notes := Peers()
	t.Log(notes)
	for _, row := range []struct {
		name     string
		down, up keepalive.Wire
		tls      bool
	}{
		{"h2 to h2", keepalive.HTTP2, keepalive.HTTP2, false},
		{"h2 to h1", keepalive.HTTP2, keepalive.HTTP1, false},
		{"h1 to h2", keepalive.HTTP1, keepalive.HTTP2, false},
		{"h2 to h2, TLS", keepalive.HTTP2, keepalive.HTTP2, true},
	} {
		listen, upstream, admin := freeAddrs(t)
		b := keepalive.Backend{Wire: row.up, Addr: upstream, Size: 1024}
		s := Setup{Workers: 2, Listen: listen, Upstream: upstream, Admin: admin, HTTP2: row.down == keepalive.HTTP2, UpstreamHTTP2: row.up == keepalive.HTTP2}
		client := keepalive.Spec{Wire: row.down, Addr: listen, Conns: 3, Streams: 20, Size: 1024}
		if row.tls {
			b.Cert, b.Key, client.CA = files.Cert, files.Key, files.Cert
			s.TLS, s.UpstreamTLS = files, files
		}
		backend, err := b.Start(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer backend.Stop()
		for _, p := range peers {
			if !p.Supports(s) {
				continue
			}
			t.Run(row.name+", "+p.Name, func(t *testing.T) {
				s := s
				s.Dir = t.TempDir()
				process, err := p.Start(s)
				if err != nil {
					t.Fatal(err)
				}
				defer process.Stop()
				c, err := keepalive.StartClient(client)
				if err != nil {
					t.Fatalf("%v; the proxy says %s", err, process.Output())
				}
				defer c.End()
				r, err := c.RunUntil(keepalive.Load{Window: 200 * time.Millisecond, PIDs: process.Family()}, 1)
				if err != nil {
					t.Fatal(err)
				}
				if r.Failures != 0 || r.Requests == 0 || r.CPU <= 0 {
					t.Errorf("%d responses, %v of CPU, %d failures: %s; it says %s", r.Requests, r.CPU, r.Failures, r.Failure, process.Output())
				}
				t.Logf("%.1f us", float64(r.CPU.Microseconds())/float64(r.Requests))
			})
		}
	}
}
