package upstream_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/proxy/upstream"
)

// nameServer is a resolver whose behaviour changes.
type nameServer struct {
	lookup  atomic.Value // func(ctx context.Context) ([]netip.Addr, error)
	lookups atomic.Int64
}

// LookupIP implements discovery.Resolver.
func (s *nameServer) LookupIP(ctx context.Context, _ string) ([]netip.Addr, time.Duration, error) {
	s.lookups.Add(1)
	ips, err := s.lookup.Load().(func(context.Context) ([]netip.Addr, error))(ctx)
	return ips, 5 * time.Second, err
}

// LookupSRV implements discovery.Resolver.
func (*nameServer) LookupSRV(context.Context, string) ([]*net.SRV, time.Duration, error) {
	return nil, 0, errors.ErrUnsupported
}

// TestNameServerDies: while a name server does not respond, denies the name or returns nothing, the endpoints found before stay in use.
// The fault is logged once, counted and shown, and ends with the next good response.
func TestNameServerDies(t *testing.T) {
	t.Parallel()
	g := loops(t, 1)
	synctest.Test(t, func(t *testing.T) {
		finds := func(ip string) func(context.Context) ([]netip.Addr, error) {
			return func(context.Context) ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr(ip)}, nil }
		}
		s := &nameServer{}
		s.lookup.Store(finds("192.0.2.1"))
		var log bytes.Buffer
		cfg := &upstream.Config{Name: "web", Endpoints: []upstream.EndpointConfig{{Address: "web.example:80"}}}
		c, err := upstream.NewResolving(cfg, g, slog.New(slog.NewTextHandler(&log, nil)), s)
		if err != nil {
			t.Fatal(err)
		}
		defer run(c)()
		time.Sleep(time.Minute)
		failed := int64(0)
		for i, fault := range []struct {
			name   string
			lookup func(context.Context) ([]netip.Addr, error)
		}{
			{"silent", func(ctx context.Context) ([]netip.Addr, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}},
			{"no such name", func(context.Context) ([]netip.Addr, error) {
				return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
			}},
			{"nothing", func(context.Context) ([]netip.Addr, error) { return nil, nil }},
		} {
			log.Reset()
			s.lookup.Store(fault.lookup)
			began := s.lookups.Load()
			time.Sleep(time.Hour)
			synctest.Wait()
			if got, want := endpoints(c), []string{"192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80"}[i]; got != want {
				t.Errorf("%s: endpoints %s, want %s", fault.name, got, want)
			}
			if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "cannot find endpoints") || !strings.Contains(log.String(), "web.example") {
				t.Errorf("%s: the log has %d lines, want one:\n%s", fault.name, n, log.String())
			}
			stats := c.Snapshot()
			if stats.LookupErr == nil || stats.LookupsFailed <= failed {
				t.Errorf("%s: error %v, %d failed lookups, %d before", fault.name, stats.LookupErr, stats.LookupsFailed, failed)
			}
			failed = stats.LookupsFailed
			if n := s.lookups.Load() - began; n > 3700 {
				t.Errorf("%s: %d lookups in an hour", fault.name, n)
			}
			log.Reset()
			next := []string{"192.0.2.2", "192.0.2.3", "192.0.2.4"}[i]
			s.lookup.Store(finds(next))
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if got := endpoints(c); got != next+":80" || c.LookupErr() != nil {
				t.Errorf("after %s: endpoints %s, error %v", fault.name, got, c.LookupErr())
			}
			if n := strings.Count(log.String(), "found again"); n != 1 {
				t.Errorf("after %s: %d lines say that it is over:\n%s", fault.name, n, log.String())
			}
		}
	})
}
