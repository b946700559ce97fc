package upstream_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/proxy/upstream"
)

// TestEndOfDraining: the log names a drained endpoint that may get requests again, because its address was gone for
// a while. A reload that changes the cluster ends nothing.
func TestEndOfDraining(t *testing.T) {
	t.Parallel()
	g := loops(t, 1)
	synctest.Test(t, func(t *testing.T) {
		finds := func(ips ...string) func(context.Context) ([]netip.Addr, error) {
			all := make([]netip.Addr, len(ips))
			for i, ip := range ips {
				all[i] = netip.MustParseAddr(ip)
			}
			return func(context.Context) ([]netip.Addr, error) { return all, nil }
		}
		s := &nameServer{}
		s.lookup.Store(finds("192.0.2.1", "192.0.2.2"))
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		cfg := &upstream.Config{Name: "web", Endpoints: []upstream.EndpointConfig{{Address: "web.example:80"}}}
		c, err := upstream.NewResolving(cfg, g, logger, s)
		if err != nil {
			t.Fatal(err)
		}
		defer run(c)()
		if _, err := c.SetDrained("192.0.2.1:80", true); err != nil {
			t.Fatal(err)
		}
		if _, err := c.SetWeight("192.0.2.2:80", 7); err != nil {
			t.Fatal(err)
		}
		expect := func(parts ...string) {
			t.Helper()
			if n := strings.Count(log.String(), "set it again"); n != len(parts) {
				t.Errorf("the log has %d lines about it, want %d:\n%s", n, len(parts), log.String())
			}
			for _, part := range parts {
				if !strings.Contains(log.String(), part) {
					t.Errorf("the log lacks %q:\n%s", part, log.String())
				}
			}
			log.Reset()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		expect()
		next := *cfg
		next.ConnectTimeout = 5 * time.Second
		next.Endpoints = []upstream.EndpointConfig{{Address: "192.0.2.1:80"}, {Address: "192.0.2.2:80"}}
		second, err := upstream.NewShared(&next, g, logger, upstream.Shared{Before: c})
		if err != nil {
			t.Fatal(err)
		}
		second.Succeed(c)
		expect()
		if got := second.Snapshot().Endpoints; !got[0].Drained || got[0].Weight != 1 || got[1].Drained || got[1].Weight != 7 {
			t.Errorf("the cluster that takes over has %+v, want what the operator has set", got)
		}
		fewer := next
		fewer.Endpoints = next.Endpoints[1:]
		third, err := upstream.NewShared(&fewer, g, logger, upstream.Shared{Before: second})
		if err != nil {
			t.Fatal(err)
		}
		third.Succeed(second)
		expect("endpoint=192.0.2.1:80 drained=true weight=1")
		s.lookup.Store(finds("192.0.2.2"))
		time.Sleep(time.Minute)
		synctest.Wait()
		expect("endpoint=192.0.2.1:80 drained=true")
		s.lookup.Store(finds("192.0.2.1", "192.0.2.2"))
		time.Sleep(time.Minute)
		synctest.Wait()
		expect()
		if got := c.Snapshot(); len(got.Endpoints) != 2 || got.Endpoints[0].Drained || got.Endpoints[1].Drained {
			t.Errorf("got %+v, want two endpoints that get requests", got.Endpoints)
		}
	})
}
