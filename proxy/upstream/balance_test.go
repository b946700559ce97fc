package upstream_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"example.com/ferry/proxy/upstream"
)

var all = []upstream.Balance{upstream.LeastRequest, upstream.RoundRobin, upstream.EWMA}

// pick calls Pick. An error fails the test.
func pick(t testing.TB, c *upstream.Cluster, random uint64, avoid *upstream.Endpoint) *upstream.Endpoint {
	t.Helper()
	e, err := c.Pick(random, 0, avoid)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAvoid(t *testing.T) {
	t.Parallel()
	for _, b := range all {
		for n := 1; n <= 4; n++ {
			for _, uneven := range []bool{false, true} {
				c := cluster(t, several(n, b, uneven))
				avoid := pick(t, c, 0, nil)
				avoid.Done(upstream.Success, time.Nanosecond, 0) // makes avoid the cheapest endpoint
				seen := map[*upstream.Endpoint]bool{}
				for range 300 {
					e := pick(t, c, rand.Uint64(), avoid)
					e.Done(upstream.Success, time.Millisecond, 0)
					seen[e] = true
				}
				if seen[avoid] != (n == 1) || len(seen) != max(n-1, 1) {
					t.Errorf("%s, %d endpoints: %d were chosen, the one to avoid among them: %v", b, n, len(seen), seen[avoid])
				}
			}
		}
	}
}

func TestRequestsLimit(t *testing.T) {
	t.Parallel()
	cfg := several(3, upstream.LeastRequest, false)
	cfg.Limits.Requests = 10
	c := cluster(t, cfg)
	var picked []*upstream.Endpoint
	for range 10 {
		picked = append(picked, pick(t, c, rand.Uint64(), nil))
	}
	if _, err := c.Pick(rand.Uint64(), 0, nil); !errors.Is(err, upstream.ErrOverload) {
		t.Errorf("the 11th request: got %v, want %v", err, upstream.ErrOverload)
	}
	picked[0].Done(upstream.Canceled, 0, 0)
	pick(t, c, rand.Uint64(), nil)
	if s := c.Snapshot(); s.Active != 10 || s.RefusedRequests != 1 {
		t.Errorf("got %d active and %d refused, want 10 and 1", s.Active, s.RefusedRequests)
	}
}

func TestConnectionsLimit(t *testing.T) {
	t.Parallel()
	cfg := several(2, upstream.LeastRequest, false)
	cfg.Limits.Connections = 2
	c := cluster(t, cfg)
	e := pick(t, c, 0, nil)
	other := pick(t, c, 0, e)
	for i, want := range []bool{true, true, false} {
		if got := e.Connect(); got != want {
			t.Errorf("connection %d: got %v, want %v", i+1, got, want)
		}
	}
	if !other.Connect() {
		t.Error("the limit is that of each endpoint")
	}
	e.Disconnect()
	if a, b := e.ConnectionsLeft(), other.ConnectionsLeft(); a != 1 || b != 1 {
		t.Errorf("room for %d and %d connections, want 1 and 1", a, b)
	}
	if !e.Connect() {
		t.Error("a connection that was closed still counts")
	}
	if got := c.Snapshot().RefusedConnections; got != 1 {
		t.Errorf("%d connections refused, want 1", got)
	}
}

func TestWaitingLimit(t *testing.T) {
	t.Parallel()
	cfg := several(2, upstream.LeastRequest, false)
	cfg.Limits.Waiting = 2
	c := cluster(t, cfg)
	for i, want := range []bool{true, true, false} {
		if got := c.Wait(); got != want {
			t.Errorf("request %d: got %v, want %v", i+1, got, want)
		}
	}
	c.Unwait()
	if !c.Wait() {
		t.Error("a request that has waited still counts")
	}
	if s := c.Snapshot(); s.Waiting != 2 || s.RefusedWaiting != 1 {
		t.Errorf("got %d waiting and %d refused, want 2 and 1", s.Waiting, s.RefusedWaiting)
	}
}

// TestManyLoops runs everything that loops and goroutines do to a cluster at the same time. Afterwards no request is
// active, and each request was counted once.
func TestManyLoops(t *testing.T) {
	t.Parallel()
	for _, b := range all {
		cfg := several(5, b, true)
		cfg.Outlier = &upstream.Outlier{Failures: 2, EjectionTime: 3 * time.Millisecond}
		cfg.Limits.Requests = 30
		c := cluster(t, cfg)
		var picked, refused [4]int64
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), 5))
				var last *upstream.Endpoint
				var flying []*upstream.Endpoint
				for i := range 5000 {
					now := time.Duration(i) * time.Millisecond
					e, err := c.Pick(r.Uint64(), now, last)
					switch {
					case err == nil:
						picked[g]++
						flying = append(flying, e)
					case errors.Is(err, upstream.ErrOverload):
						refused[g]++
					default:
						t.Error(err)
						return
					}
					for len(flying) > 10 || i == 4999 && len(flying) > 0 {
						last = flying[0]
						flying = flying[1:]
						last.Done(upstream.Outcome(r.IntN(int(upstream.Outcomes))), time.Duration(r.IntN(1000)), now)
					}
					c.Snapshot()
				}
			})
		}
		wg.Wait()
		s := c.Snapshot()
		var want, over, got, ejections int64
		for g := range picked {
			want += picked[g]
			over += refused[g]
		}
		for _, e := range s.Endpoints {
			for _, n := range e.Outcomes {
				got += n
			}
			if e.Active != 0 {
				t.Errorf("%s: %d in flight at %s, want 0", b, e.Active, e.Address)
			}
			ejections += e.Ejections
		}
		if got != want || s.Active != 0 || s.RefusedRequests != over || want+over != 20_000 {
			t.Errorf("%s: %d done, %d active, %d refused; want %d, 0, %d", b, got, s.Active, s.RefusedRequests, want, over)
		}
		if ejections == 0 {
			t.Errorf("%s: nothing was ejected, though half of all requests failed", b)
		}
	}
}

// asked calls Pick often enough to get every endpoint in use, and returns these endpoints.
func asked(t *testing.T, c *upstream.Cluster) map[*upstream.Endpoint]bool {
	t.Helper()
	seen := map[*upstream.Endpoint]bool{}
	for range 200 {
		e := pick(t, c, rand.Uint64(), nil)
		e.Done(upstream.Canceled, 0, 0)
		seen[e] = true
	}
	return seen
}

// only ends n requests to e with outcome o.
func only(t *testing.T, c *upstream.Cluster, e *upstream.Endpoint, n int, o upstream.Outcome) {
	t.Helper()
	for range n {
		for {
			got := pick(t, c, rand.Uint64(), nil)
			if got == e {
				got.Done(o, 0, 0)
				break
			}
			got.Done(upstream.Canceled, 0, 0)
		}
	}
}

func ejecting(n int, o upstream.Outlier) *upstream.Config {
	c := several(n, upstream.LeastRequest, false)
	c.Outlier = &o
	return c
}
