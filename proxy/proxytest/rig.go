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

// Patience is how long a test waits for an event that must happen. No test depends on how long the event takes.
const Patience = time.Minute

// Brief is for timeouts that must expire during a test.
const Brief = 50 * time.Millisecond

// Eventually waits until is returns true. what describes the condition in the failure message.
func Eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(Patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %v: %s", Patience, what)
		}
	}
}

// Rand returns a random number generator. Its seed is the test's name, so each run of a test gets the same numbers.
func Rand(tb testing.TB) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(tb.Name()))
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}

// BothLoops runs a test with epoll loops and with goroutine loops, two loops each.
func BothLoops(t *testing.T, f func(t *testing.T, c loop.Config)) {
	for _, kind := range []struct {
		name     string
		portable bool
	}{{"system", false}, {"goroutines", true}} {
		t.Run(kind.name, func(t *testing.T) { f(t, loop.Config{Loops: 2, Portable: kind.portable}) })
	}
}

// Rig has event loops and the objects that a driver needs on them. The loops end with the test.
type Rig struct {
	TB      testing.TB
	Group   *loop.Group
	Metrics *traffic.Metrics
}

// NewRig starts a Rig. Connections that are open when the test ends are aborted.
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

// Table compiles rules as the routes of a virtual host that matches every host.
func Table(tb testing.TB, rules ...route.Rule) *route.Table {
	tb.Helper()
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: rules}}}, all.Formats())
	if err != nil {
		tb.Fatal(err)
	}
	return table
}

// Cluster returns the configuration of a cluster whose endpoints are servers.
func Cluster(name string, servers ...string) upstream.Config {
	c := upstream.Config{Name: name}
	for _, s := range servers {
		c.Endpoints = append(c.Endpoints, upstream.EndpointConfig{Address: s})
	}
	return c
}

// Plan creates a Plan from rules and the clusters that they name. log may be nil.
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
	return exchange.NewPlan(nil, "test", Table(r.TB, rules...), made, r.Metrics, log)
}

// Listen listens on a new port and returns the address. accept handles the connections.
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

// OnLoop calls f on loop l and returns the result of f.
func OnLoop[T any](tb testing.TB, l *loop.Loop, f func() T) T {
	tb.Helper()
	got := make(chan T, 1)
	if err := l.PostWait(context.Background(), func() { got <- f() }); err != nil {
		tb.Fatal(err)
	}
	return <-got
}

// Stats adds up the statistics of the loops.
func (r *Rig) Stats() loop.Stats {
	sum, _ := r.Group.Stats()
	return sum
}
