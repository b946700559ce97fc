package upstream_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"example.com/ferry/proxy/upstream"
)

var all = []upstream.Balance{upstream.LeastRequest, upstream.RoundRobin, upstream.EWMA}

// weighted returns the configuration of a cluster with one endpoint for each weight.
func weighted(b upstream.Balance, weights ...int) *upstream.Config {
	c := &upstream.Config{Name: "it", Balance: b}
	for i, w := range weights {
		c.Endpoints = append(c.Endpoints, upstream.EndpointConfig{Address: fmt.Sprintf("192.0.2.%d:80", i+1), Weight: w})
	}
	return c
}

// pick calls Pick. An error fails the test.
func pick(t testing.TB, c *upstream.Cluster, random uint64, now time.Duration, avoid *upstream.Endpoint) *upstream.Endpoint {
	t.Helper()
	e, err := c.Pick(random, now, avoid)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestShares checks that requests are distributed by weight while all endpoints are idle.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, b := range all {
		for _, weights := range [][]int{{1}, {1, 1}, {5, 5, 5, 5}, {1, 3}, {5, 1, 1}, {10, 20, 30, 40}, {1000, 999, 1}} {
			t.Run(fmt.Sprint(b, weights), func(t *testing.T) {
				t.Parallel()
				c := cluster(t, weighted(b, weights...))
				r := rand.New(rand.NewPCG(1, 2))
				const n = 40_000
				got := map[string]float64{}
				for range n {
					e := pick(t, c, r.Uint64(), 0, nil)
					got[e.Addr().String()]++
					e.Done(upstream.Success, time.Millisecond, 0)
				}
				total := 0
				for _, w := range weights {
					total += w
				}
				for i, w := range weights {
					want := n * float64(w) / float64(total)
					if is := got[fmt.Sprintf("192.0.2.%d:80", i+1)]; math.Abs(is-want) > 5*math.Sqrt(want)+1 {
						t.Errorf("endpoint %d of weight %d got %v requests of %d, want about %.0f", i, w, is, n, want)
					}
				}
			})
		}
	}
}

// TestRoundRobin checks that endpoints of equal weight take turns. With different weights, the count of each endpoint
// is never more than three requests off its share.
func TestRoundRobin(t *testing.T) {
	t.Parallel()
	for _, weights := range [][]int{{1}, {1, 1}, {7, 7, 7}, {5, 1, 1}, {2, 1}, {10, 20, 30}, {1, 2, 3, 4}, {1000, 999, 1}, {1, 1, 1, 1, 1, 1, 1, 50}} {
		c := cluster(t, weighted(upstream.RoundRobin, weights...))
		total := 0
		for _, w := range weights {
			total += w
		}
		even := total == weights[0]*len(weights)
		got := make([]int, len(weights))
		for k := range 10_000 {
			i := int(pick(t, c, rand.Uint64(), 0, nil).Addr().TCP.Addr().As4()[3]) - 1
			if even && i != k%len(weights) {
				t.Fatalf("weights %v: request %d went to %d, want %d", weights, k, i, k%len(weights))
			}
			got[i]++
			for j, w := range weights {
				if want := float64((k+1)*w) / float64(total); math.Abs(float64(got[j])-want) > 3 {
					t.Fatalf("weights %v: of %d requests %d went to %d, want %.1f", weights, k+1, got[j], j, want)
				}
			}
		}
	}
}

// TestLeastRequest checks that requests that never end are distributed by weight.
func TestLeastRequest(t *testing.T) {
	t.Parallel()
	weights := []int{1, 2, 3, 4, 5, 5, 5, 5}
	c := cluster(t, weighted(upstream.LeastRequest, weights...))
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 * 100 {
		pick(t, c, r.Uint64(), 0, nil)
	}
	for i, e := range c.Snapshot().Endpoints {
		if want := int64(100 * weights[i]); e.Active < want-25 || e.Active > want+25 {
			t.Errorf("endpoint %d of weight %d has %d requests in flight, want about %d", i, weights[i], e.Active, want)
		}
	}
}

// TestLeastRequestPassesOver checks that the busier of two endpoints gets no request.
func TestLeastRequestPassesOver(t *testing.T) {
	t.Parallel()
	c := cluster(t, weighted(upstream.LeastRequest, 1, 1))
	busy := pick(t, c, 0, 0, nil)
	for range 100 {
		e := pick(t, c, rand.Uint64(), 0, nil)
		if e == busy {
			t.Fatal("the busy endpoint was chosen beside an idle one")
		}
		e.Done(upstream.Success, 0, 0)
	}
}

func TestAvoid(t *testing.T) {
	t.Parallel()
	for _, b := range all {
		for n := 1; n <= 4; n++ {
			for _, uneven := range []bool{false, true} {
				c := cluster(t, several(n, b, uneven))
				avoid := pick(t, c, 0, 0, nil)
				avoid.Done(upstream.Success, time.Nanosecond, 0) // makes avoid the cheapest endpoint
				seen := map[*upstream.Endpoint]bool{}
				for range 300 {
					e := pick(t, c, rand.Uint64(), 0, avoid)
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
		picked = append(picked, pick(t, c, rand.Uint64(), 0, nil))
	}
	if _, err := c.Pick(rand.Uint64(), 0, nil); !errors.Is(err, upstream.ErrOverload) {
		t.Errorf("the 11th request: got %v, want %v", err, upstream.ErrOverload)
	}
	picked[0].Done(upstream.Canceled, 0, 0)
	pick(t, c, rand.Uint64(), 0, nil)
	if s := c.Snapshot(); s.Active != 10 || s.RefusedRequests != 1 {
		t.Errorf("got %d active and %d refused, want 10 and 1", s.Active, s.RefusedRequests)
	}
}

func TestConnectionsLimit(t *testing.T) {
	t.Parallel()
	cfg := several(2, upstream.LeastRequest, false)
	cfg.Limits.Connections = 2
	c := cluster(t, cfg)
	e := pick(t, c, 0, 0, nil)
	other := pick(t, c, 0, 0, e)
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
