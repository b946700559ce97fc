package upstream_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/upstream"
)

// after returns the cluster that replaces before.
func after(t *testing.T, before *upstream.Cluster, g *loop.Group, c *upstream.Config) *upstream.Cluster {
	t.Helper()
	made, err := upstream.NewShared(c, g, nil, upstream.Shared{Before: before})
	if err != nil {
		t.Fatal(err)
	}
	made.Succeed(before)
	return made
}

// statsOf returns the statistics of the endpoint with that address.
func statsOf(t *testing.T, c *upstream.Cluster, e *upstream.Endpoint) upstream.EndpointStats {
	t.Helper()
	for _, s := range c.Snapshot().Endpoints {
		if s.Address == e.Addr().String() {
			return s
		}
	}
	t.Fatalf("no endpoint %v", e.Addr())
	return upstream.EndpointStats{}
}

// TestReplacedClusterGoesOnCounting: the counters of a cluster, and of endpoints whose address stays, are those of both.
func TestReplacedClusterGoesOnCounting(t *testing.T) {
	t.Parallel()
	g := loops(t, 1)
	first, err := upstream.New(ejecting(3, upstream.Outlier{Failures: 3, EjectionTime: time.Hour}), g, nil)
	if err != nil {
		t.Fatal(err)
	}
	bad := pick(t, first, 0, nil)
	bad.Done(upstream.Success, time.Millisecond, 0)
	only(t, first, bad, 3, upstream.ConnectFailure)
	inFlight := pick(t, first, 0, nil)

	next := ejecting(3, upstream.Outlier{Failures: 3, EjectionTime: time.Hour})
	next.ConnectTimeout, next.Limits.Requests = 5*time.Second, 2
	for i := range next.Endpoints {
		next.Endpoints[i].Weight = 7
	}
	second := after(t, first, g, next)
	got := statsOf(t, second, bad)
	if got.Outcomes[upstream.Success] != 1 || got.Outcomes[upstream.ConnectFailure] != 3 || got.Ejections != 1 || got.Ejected == 0 || got.Latency == 0 || got.Weight != 7 {
		t.Errorf("got %+v, want the counters and the ejection of the endpoint before", got)
	}
	for range 2 { // the third request in flight, with the one of the first cluster
		e, err := second.Pick(0, 0, nil)
		if err != nil {
			if !errors.Is(err, upstream.ErrOverload) {
				t.Fatal(err)
			}
			continue
		}
		if e.Addr() == bad.Addr() {
			t.Error("the ejected endpoint gets a request")
		}
	}
	s := second.Snapshot()
	if s.Active != 2 || s.RefusedRequests != 1 {
		t.Errorf("%d requests in flight and %d refused, want 2 and 1", s.Active, s.RefusedRequests)
	}
	inFlight.Done(upstream.Success, time.Millisecond, 0)
	if got := statsOf(t, second, inFlight); got.Outcomes[upstream.Success] != 1 {
		t.Errorf("a request that ends later is not counted: %+v", got)
	}

	changed := *next
	changed.Outlier = &upstream.Outlier{Failures: 4, EjectionTime: time.Hour}
	third := after(t, second, g, &changed)
	if got := statsOf(t, third, bad); got.Ejected == 0 || got.Ejections != 1 {
		t.Errorf("got %+v, want the ejection to go on", got)
	}
	changed.Outlier = nil
	if got := statsOf(t, after(t, third, g, &changed), bad); got.Ejected != 0 {
		t.Errorf("got %+v, want no ejection without an outlier configuration", got)
	}
}

// TestReplacedClusterKeepsHealth: an endpoint that is down stays down, however often the health check of the new cluster runs. By another
// check, it is up as soon as that succeeds.
func TestReplacedClusterKeepsHealth(t *testing.T) {
	t.Parallel()
	g := loops(t, 1)
	cfg := several(2, upstream.LeastRequest, false)
	cfg.Health = &upstream.Health{Kind: upstream.HealthTCP, Interval: time.Millisecond, Unhealthy: 1, Healthy: 1000}
	first, err := upstream.New(cfg, g, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	first.ProbeWith(func(context.Context, loop.Addr) error { return errors.New("down") })
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() { first.Run(ctx); close(ran) }()
	for late := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, down := addresses(first); len(down) == 2 {
			break
		}
		if time.Now().After(late) {
			t.Fatal("the endpoints stay up")
		}
	}
	cancel()
	<-ran
	next := *cfg
	next.ConnectTimeout = 5 * time.Second
	if _, down := addresses(after(t, first, g, &next)); len(down) != 2 {
		t.Errorf("%d endpoints are down after a change, want 2", len(down))
	}
	next.Health = &upstream.Health{Kind: upstream.HealthTCP, Interval: time.Second}
	if _, down := addresses(after(t, first, g, &next)); len(down) != 2 {
		t.Errorf("%d endpoints are down after a change of the interval, want 2", len(down))
	}
	next.Health = &upstream.Health{Kind: upstream.HealthHTTP, Interval: time.Hour, Healthy: 1000}
	other := after(t, first, g, &next)
	if _, down := addresses(other); len(down) != 2 {
		t.Errorf("%d endpoints are down before another check has run, want 2", len(down))
	}
	other.ProbeWith(func(context.Context, loop.Addr) error { return nil })
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	go other.Run(ctx)
	for late := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, down := addresses(other); len(down) == 0 {
			break
		}
		if time.Now().After(late) {
			t.Fatal("the endpoints stay down although the new check succeeds")
		}
	}
	next.Health = nil
	if _, down := addresses(after(t, first, g, &next)); len(down) != 0 {
		t.Errorf("%d endpoints are down without health checks, want none", len(down))
	}
}

// TestReplacedClusterKeepsAddresses: while a lookup fails, a new cluster has the addresses that the one before has found.
func TestReplacedClusterKeepsAddresses(t *testing.T) {
	t.Parallel()
	g := loops(t, 1)
	cfg := &upstream.Config{Name: "c", Endpoints: []upstream.EndpointConfig{{Address: "ferry.invalid:80"}}}
	first, err := upstream.NewAsking(cfg, g, slog.New(slog.DiscardHandler), func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	next := *cfg
	next.ConnectTimeout = 5 * time.Second
	second := after(t, first, g, &next) // the name never resolves
	if got := second.Snapshot(); len(got.Endpoints) != 1 || got.Endpoints[0].Address != "192.0.2.1:80" {
		t.Errorf("got the endpoints %+v", got.Endpoints)
	}
}
