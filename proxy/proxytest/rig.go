package proxytest

import (
	"context"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/ferry/format/all"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// Patience is how long a test waits for what must happen. No test passes or fails by how long it took.
const Patience = 20 * time.Second

// Brief is for timeouts that are to pass within a test.
const Brief = 50 * time.Millisecond

// Eventually waits until is returns true.
func Eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(Patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %v: %s", Patience, what)
		}
	}
}

// Rand returns random numbers that are the same in each run of the test: their seed is its name.
func Rand(tb testing.TB) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(tb.Name()))
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}

// BothLoops runs a test on epoll and on goroutines, with two loops.
func BothLoops(t *testing.T, f func(t *testing.T, c loop.Config)) {
	for _, kind := range []struct {
		name     string
		portable bool
	}{{"system", false}, {"goroutines", true}} {
		t.Run(kind.name, func(t *testing.T) { f(t, loop.Config{Loops: 2, Portable: kind.portable}) })
	}
}

// Rig is event loops and what a driver needs on them. The loops end with the test.
type Rig struct {
	TB      testing.TB
	Group   *loop.Group
	Metrics *traffic.Metrics
}

// NewRig starts a Rig. Connections that are left when the test ends are reset.
func NewRig(tb testing.TB, c loop.Config) *Rig {
	tb.Helper()
	g, err := loop.New(&c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = g.Shutdown(ctx)
	})
	return &Rig{TB: tb, Group: g, Metrics: traffic.NewMetrics(len(g.Loops()))}
}

// Table compiles the routes of one virtual host that takes every host.
func Table(tb testing.TB, rules ...route.Rule) *route.Table {
	tb.Helper()
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: rules}}}, all.Formats())
	if err != nil {
		tb.Fatal(err)
	}
	return table
}

// Cluster is a configuration of a cluster with these servers.
func Cluster(name string, servers ...string) upstream.Config {
	c := upstream.Config{Name: name}
	for _, s := range servers {
		c.Endpoints = append(c.Endpoints, upstream.EndpointConfig{Address: s})
	}
	return c
}

// Plan makes a plan of rules and the clusters they name. log may be nil.
func (r *Rig) Plan(log *traffic.Log, rules []route.Rule, clusters ...upstream.Config) *exchange.Plan {
	r.TB.Helper()
	made := map[string]*upstream.Cluster{}
	for i := range clusters {
		c, err := upstream.New(&clusters[i], r.Group, slog.New(slog.DiscardHandler))
		if err != nil {
			r.TB.Fatal(err)
		}
		made[clusters[i].Name] = c
	}
	return exchange.NewPlan("test", Table(r.TB, rules...), made, r.Metrics, log)
}

// Listen serves the connections of a port of its own, and returns its address.
func (r *Rig) Listen(accept loop.AcceptFunc) string {
	r.TB.Helper()
	at, err := loop.ParseAddr("127.0.0.1:0")
	if err != nil {
		r.TB.Fatal(err)
	}
	ln, err := r.Group.Listen(at, accept)
	if err != nil {
		r.TB.Fatal(err)
	}
	return ln.Addr().String()
}

// OnLoop calls f on a loop and returns what it returns.
func OnLoop[T any](tb testing.TB, l *loop.Loop, f func() T) T {
	tb.Helper()
	got := make(chan T, 1)
	if err := l.PostWait(context.Background(), func() { got <- f() }); err != nil {
		tb.Fatal(err)
	}
	return <-got
}

// Stats adds up what the loops count.
func (r *Rig) Stats() loop.Stats {
	sum, _ := r.Group.Stats()
	return sum
}
