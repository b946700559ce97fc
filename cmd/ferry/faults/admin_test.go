//go:build linux

package faults

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// TestAdminFlood floods the admin server: with connections, heads that do not end, responses that are not read, bodies, profiles,
// streams and requests.
func TestAdminFlood(t *testing.T) {
	t.Parallel()
	s := newServer(t, t.TempDir())
	s.start()
	l := startLoads(s)
	before := s.memory()
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	repeat := func(n int, f func()) {
		for range n {
			clients.Go(func() {
				for ctx.Err() == nil {
					f()
				}
			})
		}
	}
	// raw writes text to a connection, and reads until the server closes it if read is set, or otherwise until the end of the test.
	raw := func(text string, read bool) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", s.admin)
		if err != nil {
			return
		}
		defer c.Close()
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		defer stop()
		_, _ = io.WriteString(c, text)
		if read {
			_, _ = io.Copy(io.Discard, c)
			return
		}
		_, _ = c.Read(make([]byte, 1))
		<-ctx.Done()
	}
	request := func(method, path string, body []byte) {
		req, err := http.NewRequestWithContext(ctx, method, "http://"+s.admin+path, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		if resp, err := client.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}
	l.unharmed(func() {
		for range 300 { // more than the connections that the server keeps
			clients.Go(func() { raw("", false) })
			clients.Go(func() { raw("G", false) })
		}
		repeat(floods, func() { raw("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", false) })
		repeat(floods, func() { raw("GET /debug/pprof/heap?seconds=300 HTTP/1.1\r\nHost: localhost\r\n\r\n", true) })
		repeat(floods, func() { request(http.MethodGet, "/api/stream?tag=%23", nil) })
		repeat(1, func() { request(http.MethodPost, "/api/config/plan", make([]byte, 4<<20)) })
		repeat(1, func() { request(http.MethodGet, "/", nil) })
		s.await("the flood is counted", func() bool { return s.metric(`ferry_admin_refused_total{what="connections"}`) > 100 })
		for range 20 {
			var status int
			for range 3 { // a prober tries again before it gives up
				if status, _ = s.get("/ready"); status == http.StatusOK {
					break
				}
			}
			if status != http.StatusOK {
				t.Errorf("/ready: %d, three times", status)
			}
		}
		l.progress("under the flood", kinds...)
		if grown := s.memory() - before; grown > 128<<20 {
			t.Errorf("the node uses %d MiB more", grown>>20)
		}
	}, kinds...)
	cancel()
	clients.Wait()
	l.progress("afterwards", kinds...)
	l.settle()
}
