package upstream_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/upstream"
)

// names is a fake name server.
type names struct {
	mu    sync.Mutex
	known map[string][]string
	hang  bool
	asked []time.Time
}

func (n *names) set(host string, ips ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[host] = ips
}

func (n *names) ask(ctx context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	ips, ok, hang := n.known[host], n.known[host] != nil, n.hang
	n.asked = append(n.asked, time.Now())
	n.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if !ok {
		return nil, errors.New("no such host")
	}
	var found []netip.Addr
	for _, ip := range ips {
		found = append(found, netip.MustParseAddr(ip))
	}
	return found, nil
}

// retirement is a pool that counts the calls of Retire.
type retirement struct{ n atomic.Int64 }

func (r *retirement) Retire() { r.n.Add(1) }

// pools stores a pool in e for each loop of g.
func pools(t *testing.T, g *loop.Group, e *upstream.Endpoint) []*retirement {
	t.Helper()
	var made []*retirement
	for i, l := range g.Loops() {
		p := &retirement{}
		if err := l.Post(func() { e.SetPool(i, upstream.HTTP1, p) }); err != nil {
			t.Fatal(err)
		}
		made = append(made, p)
	}
	return made
}

// retired returns a function that waits until all loops have run their posted functions. The function returns how
// often each pool was retired. The loops run outside the test's synctest bubble, so the function waits outside too.
func retired(t *testing.T, g *loop.Group) func(pools []*retirement) []int64 {
	ask, done := make(chan struct{}), make(chan struct{})
	go func() {
		for range ask {
			g.Stats()
			done <- struct{}{}
		}
	}()
	t.Cleanup(func() { close(ask) })
	return func(pools []*retirement) (n []int64) {
		ask <- struct{}{}
		<-done
		for _, p := range pools {
			n = append(n, p.n.Load())
		}
		return n
	}
}

func endpoints(c *upstream.Cluster) string {
	var all []string
	for _, e := range c.Snapshot().Endpoints {
		all = append(all, e.Address)
	}
	return strings.Join(all, " ")
}

func TestNames(t *testing.T) {
	t.Parallel()
	g := loops(t, 2)
	count := retired(t, g)
	synctest.Test(t, func(t *testing.T) {
		n := &names{known: map[string][]string{"a.example": {"192.0.2.2", "::ffff:192.0.2.1", "192.0.2.2"}, "b.example": {"2001:db8::1"}}}
		cfg := at("a.example:80", "192.0.2.9:80", "b.example:81")
		cfg.Endpoints[0].Weight = 3
		var log strings.Builder
		c, err := upstream.NewAsking(cfg, g, slog.New(slog.NewTextHandler(&log, nil)), n.ask)
		if err != nil {
			t.Fatal(err)
		}
		expect := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := endpoints(c); got != want {
				t.Fatalf("endpoints %s, want %s", got, want)
			}
		}
		expect("192.0.2.1:80 192.0.2.2:80 192.0.2.9:80 [2001:db8::1]:81")
		if s := c.Snapshot().Endpoints; s[0].Weight != 3 || s[1].Weight != 3 || s[2].Weight != 1 {
			t.Errorf("weights %d, %d, %d; want 3, 3, 1", s[0].Weight, s[1].Weight, s[2].Weight)
		}
		find := func(address string) *upstream.Endpoint {
			t.Helper()
			for e := range asked(t, c) {
				if e.Addr().String() == address {
					return e
				}
			}
			t.Fatalf("no endpoint %s", address)
			return nil
		}
		first, second := find("192.0.2.1:80"), find("192.0.2.2:80")
		firstPools, secondPools := pools(t, g, first), pools(t, g, second)
		defer run(c)()

		n.set("a.example", "192.0.2.3", "192.0.2.2")
		time.Sleep(30*time.Second - time.Nanosecond)
		expect("192.0.2.1:80 192.0.2.2:80 192.0.2.9:80 [2001:db8::1]:81")
		time.Sleep(time.Nanosecond)
		expect("192.0.2.2:80 192.0.2.3:80 192.0.2.9:80 [2001:db8::1]:81")
		if !first.Retired() || second.Retired() || find("192.0.2.2:80") != second {
			t.Error("the endpoint that is gone has to be retired, and the one that is not to stay")
		}
		if got := count(firstPools); !slices.Equal(got, []int64{1, 1}) {
			t.Errorf("the pools of the one that is gone were retired %v times, want once each", got)
		}
		if got := count(secondPools); !slices.Equal(got, []int64{0, 0}) {
			t.Errorf("the pools of the one that stays were retired %v times", got)
		}

		// A failed lookup changes nothing and is retried soon.
		n.set("a.example")
		n.set("b.example", "2001:db8::2")
		n.mu.Lock()
		delete(n.known, "a.example")
		n.mu.Unlock()
		time.Sleep(30 * time.Second)
		expect("192.0.2.2:80 192.0.2.3:80 192.0.2.9:80 [2001:db8::2]:81")
		time.Sleep(1500 * time.Millisecond)
		n.set("a.example", "192.0.2.4")
		time.Sleep(time.Second)
		expect("192.0.2.4:80 192.0.2.9:80 [2001:db8::2]:81")
		if got := c.Snapshot().LookupsFailed; got != 2 {
			t.Errorf("%d lookups failed, want 2", got)
		}
		for _, line := range []string{`cluster=it source=a.example:80 err="no such host"`, `msg="discovery: endpoints are found again" cluster=it source=a.example:80`} {
			if strings.Count(log.String(), line) != 1 {
				t.Errorf("want one line with %s in\n%s", line, log.String())
			}
		}
	})
}

// TestNamesAtStart checks that a name server that does not respond delays New by two seconds. Addresses that Run
// finds later are used.
func TestNamesAtStart(t *testing.T) {
	t.Parallel()
	g := loops(t, 1)
	synctest.Test(t, func(t *testing.T) {
		n := &names{known: map[string][]string{"a.example": {"192.0.2.1"}}, hang: true}
		began := time.Now()
		c, err := upstream.NewAsking(at("a.example:80", "b.example:80"), g, slog.New(slog.DiscardHandler), n.ask)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("New took %v, want 2s", took)
		}
		if _, err := c.Pick(1, 0, nil); !errors.Is(err, upstream.ErrNoEndpoint) {
			t.Errorf("got %v, want %v", err, upstream.ErrNoEndpoint)
		}
		n.mu.Lock()
		n.hang = false
		n.mu.Unlock()
		defer run(c)()
		time.Sleep(time.Second)
		synctest.Wait()
		if got := endpoints(c); got != "192.0.2.1:80" {
			t.Errorf("endpoints %q, want 192.0.2.1:80", got)
		}
	})
}

// TestNamesShared checks that an address of two names is one endpoint. The endpoint stays until neither name has the
// address.
func TestNamesShared(t *testing.T) {
	t.Parallel()
	g := loops(t, 1)
	synctest.Test(t, func(t *testing.T) {
		n := &names{known: map[string][]string{"a.example": {"192.0.2.1"}, "b.example": {"192.0.2.1", "192.0.2.2"}}}
		c, err := upstream.NewAsking(at("a.example:80", "b.example:80"), g, slog.New(slog.DiscardHandler), n.ask)
		if err != nil {
			t.Fatal(err)
		}
		if got := endpoints(c); got != "192.0.2.1:80 192.0.2.2:80" {
			t.Errorf("endpoints %s", got)
		}
		e := pick(t, c, 0, nil)
		if got := e.Host(); got != "a.example" {
			t.Errorf("host %q, want a.example", got)
		}
		defer run(c)()
		n.set("a.example", "192.0.2.3")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := endpoints(c); got != "192.0.2.3:80 192.0.2.1:80 192.0.2.2:80" || e.Retired() {
			t.Errorf("endpoints %s, the shared one retired: %v", got, e.Retired())
		}
		if got := e.Host(); got != "b.example" {
			t.Errorf("host %q, want b.example: a.example has another address now", got)
		}
	})
}

// TestNamesAndHealth checks that the health checks of an endpoint start and end with the endpoint.
func TestNamesAndHealth(t *testing.T) {
	t.Parallel()
	g := loops(t, 1)
	synctest.Test(t, func(t *testing.T) {
		n := &names{known: map[string][]string{"a.example": {"192.0.2.1"}}}
		cfg := at("a.example:80")
		cfg.Health = &upstream.Health{Kind: upstream.HealthTCP}
		c, err := upstream.NewAsking(cfg, g, slog.New(slog.DiscardHandler), n.ask)
		if err != nil {
			t.Fatal(err)
		}
		w := &ward{ill: map[string]bool{}, seen: map[string][]time.Time{}}
		c.ProbeWith(w.probe)
		defer run(c)()
		time.Sleep(29 * time.Second)
		n.set("a.example", "192.0.2.2")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if w.probes("192.0.2.2:80") == 0 {
			t.Error("the new endpoint is not checked")
		}
		before := w.probes("192.0.2.1:80")
		time.Sleep(time.Minute)
		if got := w.probes("192.0.2.1:80"); got != before || before < 5 {
			t.Errorf("the endpoint that is gone was checked %d times before and %d times in all", before, got)
		}
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	g := loops(t, 2)
	c, err := upstream.New(several(2, upstream.LeastRequest, false), g, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := pick(t, c, 0, nil)
	made := pools(t, g, e)
	c.Close()
	c.Close()
	if got := retired(t, g)(made); !slices.Equal(got, []int64{1, 1}) || !e.Retired() {
		t.Errorf("pools were retired %v times, want once each; endpoint retired: %v", got, e.Retired())
	}
	e.Done(upstream.Success, 0, 0)
	late := pick(t, c, 0, nil)
	if !late.Retired() {
		t.Error("an endpoint of a closed cluster is not retired")
	}
	late.Done(upstream.Success, 0, 0)
	if s := c.Snapshot(); s.Active != 0 {
		t.Errorf("%d requests in flight, want 0", s.Active)
	}
}

// TestSystemNames uses the system's resolver.
func TestSystemNames(t *testing.T) {
	t.Parallel()
	c := cluster(t, at("localhost:80"))
	if got := endpoints(c); !strings.Contains(got, "127.0.0.1:80") && !strings.Contains(got, "[::1]:80") {
		t.Errorf("localhost is %q", got)
	}
}
