package upstream_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/upstream"
)

// services is a fake name server of SRV records. A host h1.example has the address 192.0.2.1, and so on.
type services struct {
	mu      sync.Mutex
	records []*net.SRV
}

func (s *services) set(records ...*net.SRV) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = records
}

// LookupIP implements discovery.Resolver.
func (s *services) LookupIP(_ context.Context, host string) ([]netip.Addr, time.Duration, error) {
	number, ok := strings.CutSuffix(strings.TrimPrefix(host, "h"), ".example.")
	if !ok {
		return nil, 0, errors.New("no such host")
	}
	return []netip.Addr{netip.MustParseAddr("192.0.2." + number)}, time.Minute, nil
}

// LookupSRV implements discovery.Resolver.
func (s *services) LookupSRV(context.Context, string) ([]*net.SRV, time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records, 2 * time.Second, nil
}

// TestSRVRecords checks that a cluster follows SRV records, and that it uses endpoints of a higher priority number only while
// no other is up.
func TestSRVRecords(t *testing.T) {
	t.Parallel()
	g := loops(t, 1)
	synctest.Test(t, func(t *testing.T) {
		s := &services{}
		s.set(&net.SRV{Target: "h1.example.", Port: 81, Priority: 1, Weight: 7}, &net.SRV{Target: "h2.example.", Port: 82, Priority: 2})
		cfg := &upstream.Config{Name: "it", Endpoints: []upstream.EndpointConfig{{SRV: "_http._tcp.web.example"}}, Health: &upstream.Health{Kind: upstream.HealthTCP, Unhealthy: 1}}
		c, err := upstream.NewResolving(cfg, g, slog.New(slog.DiscardHandler), s)
		if err != nil {
			t.Fatal(err)
		}
		w := &ward{ill: map[string]bool{}, seen: map[string][]time.Time{}}
		c.ProbeWith(w.probe)
		if got := endpoints(c); got != "192.0.2.1:81 192.0.2.2:82" {
			t.Fatalf("endpoints %s", got)
		}
		inUse := func(want string) {
			t.Helper()
			synctest.Wait()
			for e := range asked(t, c) {
				if got := e.Addr().String(); got != want {
					t.Errorf("%s gets requests, want %s", got, want)
				}
			}
		}
		inUse("192.0.2.1:81")
		e := pick(t, c, 0, nil)
		if e.Authority() != "web.example:81" {
			t.Errorf("authority %s, want the service's domain", e.Authority())
		}
		e.Done(upstream.Canceled, 0, 0)

		defer run(c)()
		time.Sleep(time.Minute)
		inUse("192.0.2.1:81")
		w.set(true, "192.0.2.1:81")
		time.Sleep(10 * time.Second)
		inUse("192.0.2.2:82")
		w.set(false, "192.0.2.1:81")
		time.Sleep(20 * time.Second)
		inUse("192.0.2.1:81")

		// The priorities change within the records' TTL. Both endpoints are the same as before, so they go on counting.
		before := c.Snapshot().Endpoints[1].Outcomes[upstream.Canceled]
		s.set(&net.SRV{Target: "h1.example.", Port: 81, Priority: 3, Weight: 7}, &net.SRV{Target: "h2.example.", Port: 82, Priority: 2})
		time.Sleep(2 * time.Second)
		inUse("192.0.2.2:82")
		if after := c.Snapshot().Endpoints[0]; after.Address != "192.0.2.2:82" || after.Outcomes[upstream.Canceled] != before+200 {
			t.Errorf("got %+v, want %d requests", after, before+200)
		}
	})
}

// TestEndpointsFile checks that a cluster follows a file of endpoints beside an address, and keeps the endpoints while the file
// is invalid.
func TestEndpointsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "endpoints")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write("192.0.2.1:80\n")
	c, err := upstream.New(&upstream.Config{Name: "it", Endpoints: []upstream.EndpointConfig{{File: path}, {Address: "192.0.2.9:80"}}}, loops(t, 1), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer run(c)()
	until := func(what string, done func() bool) {
		t.Helper()
		for late := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("%s: endpoints %s, %d lookups failed", what, endpoints(c), c.Snapshot().LookupsFailed)
			}
		}
	}
	if got := endpoints(c); got != "192.0.2.1:80 192.0.2.9:80" {
		t.Errorf("endpoints %s", got)
	}
	write("- {address: 192.0.2.2:80, weight: 4}\n- unix:/run/it.sock\n")
	until("a changed file", func() bool { return endpoints(c) == "192.0.2.2:80 unix:/run/it.sock 192.0.2.9:80" })
	if got := c.Snapshot().Endpoints[0].Weight; got != 4 {
		t.Errorf("weight %d, want 4", got)
	}
	write("- 192.0.2\n")
	until("an invalid file", func() bool { return c.Snapshot().LookupsFailed > 0 })
	if got := endpoints(c); got != "192.0.2.2:80 unix:/run/it.sock 192.0.2.9:80" {
		t.Errorf("endpoints %s after an invalid file", got)
	}
	if e := c.Snapshot().Endpoints[0]; e.Address != (loop.Addr{TCP: netip.MustParseAddrPort("192.0.2.2:80")}).String() {
		t.Errorf("the first endpoint is %s", e.Address)
	}
	write("192.0.2.3:80\n")
	until("a valid file", func() bool { return endpoints(c) == "192.0.2.3:80 192.0.2.9:80" })
}
