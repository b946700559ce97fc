package balance_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/ferry/internal/balance"
)

var all = []balance.Policy{balance.LeastRequest, balance.RoundRobin, balance.EWMA}

// weighted returns a set of one endpoint for each weight. The Value of an endpoint is its index.
func weighted(c balance.Config, weights ...int) *balance.Set {
	s := balance.New(&c, nil)
	s.Replace(endpoints(s, weights...))
	return s
}

// endpoints makes an endpoint of s for each weight.
func endpoints(s *balance.Set, weights ...int) []*balance.Endpoint {
	made := make([]*balance.Endpoint, len(weights))
	for i, w := range weights {
		made[i] = &balance.Endpoint{}
		made[i].Init(s, i, w, 0, nil)
	}
	return made
}

// several returns a set of n endpoints of equal weight.
func several(n int, c balance.Config) *balance.Set {
	return weighted(c, slices.Repeat([]int{1}, n)...)
}

// pick calls Pick. An error fails the test.
func pick(t testing.TB, s *balance.Set, random uint64, now time.Duration, avoid *balance.Endpoint) *balance.Endpoint {
	t.Helper()
	e, err := s.Pick(random, now, avoid)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestShares checks that requests are distributed by weight while all endpoints are idle.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, b := range all {
		for _, weights := range [][]int{{1}, {1, 1}, {5, 5, 5, 5}, {1, 3}, {5, 1, 1}, {10, 20, 30, 40}, {1000, 999, 1}, {1 << 30, 1 << 29, 1 << 29}} {
			t.Run(fmt.Sprint(b, weights), func(t *testing.T) {
				t.Parallel()
				c := weighted(balance.Config{Policy: b}, weights...)
				r := rand.New(rand.NewPCG(1, 2))
				const n = 40_000
				got := make([]float64, len(weights))
				for range n {
					e := pick(t, c, r.Uint64(), 0, nil)
					got[e.Value.(int)]++
					e.Done(balance.Success, balance.OwnRequest, time.Millisecond, 0)
				}
				total := 0
				for _, w := range weights {
					total += w
				}
				for i, w := range weights {
					want := n * float64(w) / float64(total)
					if is := got[i]; math.Abs(is-want) > 5*math.Sqrt(want)+1 {
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
		c := weighted(balance.Config{Policy: balance.RoundRobin}, weights...)
		total := 0
		for _, w := range weights {
			total += w
		}
		even := total == weights[0]*len(weights)
		got := make([]int, len(weights))
		for k := range 10_000 {
			i := pick(t, c, rand.Uint64(), 0, nil).Value.(int)
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
	c := weighted(balance.Config{Policy: balance.LeastRequest}, weights...)
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 * 100 {
		pick(t, c, r.Uint64(), 0, nil)
	}
	for i, e := range c.All() {
		if want, got := int64(100*weights[i]), e.Stats(0).Active; got < want-25 || got > want+25 {
			t.Errorf("endpoint %d of weight %d has %d requests in flight, want about %d", i, weights[i], got, want)
		}
	}
}

// TestLeastRequestPassesOver checks that the busier of two endpoints gets no request.
func TestLeastRequestPassesOver(t *testing.T) {
	t.Parallel()
	c := weighted(balance.Config{Policy: balance.LeastRequest}, 1, 1)
	busy := pick(t, c, 0, 0, nil)
	for range 100 {
		e := pick(t, c, rand.Uint64(), 0, nil)
		if e == busy {
			t.Fatal("the busy endpoint was chosen beside an idle one")
		}
		e.Done(balance.Success, balance.OwnRequest, 0, 0)
	}
}

// TestPriorities checks that endpoints of the lowest priority number get all requests while one of them is available.
func TestPriorities(t *testing.T) {
	t.Parallel()
	s := balance.New(&balance.Config{Outlier: &balance.Outlier{Failures: 1, EjectionTime: time.Minute, MaxEjected: 100}}, nil)
	var list []*balance.Endpoint
	for i, priority := range []int{10, 20, 10, 30} {
		e := &balance.Endpoint{}
		e.Init(s, i, 1, priority, nil)
		list = append(list, e)
	}
	s.Replace(list)
	expect := func(now time.Duration, want ...int) {
		t.Helper()
		var got []int
		for e := range asked(t, s, now) {
			got = append(got, e.Value.(int))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("endpoints %v get requests, want %v", got, want)
		}
	}
	expect(0, 0, 2)
	s.SetDown(list[0], true)
	expect(0, 2)
	only(t, s, list[2], 1, balance.Unavailable, 0)
	expect(0, 1)
	only(t, s, list[1], 1, balance.Unavailable, 0)
	expect(0, 3)
	only(t, s, list[3], 1, balance.Unavailable, 0)
	expect(0, 2) // all that are up are ejected
	expect(time.Minute, 2)
	s.SetDown(list[0], false)
	expect(time.Minute, 0, 2)
}

// TestReplace checks that an endpoint that stays keeps its state, that others are retired, and that a replaced endpoint goes on
// counting.
func TestReplace(t *testing.T) {
	t.Parallel()
	s := weighted(balance.Config{Limits: balance.Limits{Requests: 3}}, 1, 1)
	old := slices.Clone(s.All())
	only(t, s, old[0], 1, balance.Reset, 0)
	inFlight := pick(t, s, 0, 0, old[1])
	next := &balance.Endpoint{}
	next.Init(s, 2, 5, 0, old[0])
	if gone := s.Replace([]*balance.Endpoint{old[1], next}); !slices.Equal(gone, old[:1]) {
		t.Errorf("%d endpoints are gone, want the first", len(gone))
	}
	if !old[0].Retired() || old[1].Retired() || next.Retired() {
		t.Errorf("retired: %v %v %v, want the first only", old[0].Retired(), old[1].Retired(), next.Retired())
	}
	if got := next.Stats(0); got.Active != 1 || got.Outcomes[balance.Reset] != 1 || got.Weight != 5 {
		t.Errorf("got %+v, want the counters of the endpoint that it replaces", got)
	}
	inFlight.Done(balance.Success, balance.OwnRequest, time.Millisecond, 0)
	if got := next.Stats(0); got.Active != 0 || got.Outcomes[balance.Success] != 1 {
		t.Errorf("got %+v, want the request that the replaced endpoint had in flight", got)
	}

	// A set that replaces another one has its circuit breaker.
	for range 3 {
		pick(t, s, 0, 0, nil)
	}
	after := balance.New(&balance.Config{Limits: balance.Limits{Requests: 3}}, s)
	after.Replace(endpoints(after, 1))
	if _, err := after.Pick(0, 0, nil); !errors.Is(err, balance.ErrOverload) {
		t.Errorf("got %v, want %v", err, balance.ErrOverload)
	}
	s.Close()
	if !old[1].Retired() || !next.Retired() {
		t.Error("an endpoint of a closed set is not retired")
	}
}

// TestSetShare checks that weights and priorities of endpoints in use change.
func TestSetShare(t *testing.T) {
	t.Parallel()
	s := weighted(balance.Config{Policy: balance.RoundRobin}, 1, 1)
	list := slices.Clone(s.All())
	count := func() (n [2]int) {
		for range 1000 {
			n[pick(t, s, 0, 0, nil).Value.(int)]++
		}
		return n
	}
	if n := count(); n != [2]int{500, 500} {
		t.Errorf("equal weights: %v requests", n)
	}
	list[1].SetShare(9, 0)
	s.Replace(list)
	if n := count(); n[0] < 95 || n[0] > 105 {
		t.Errorf("weights 1 and 9: %v requests", n)
	}
	list[1].SetShare(9, 1)
	s.Replace(list)
	if n := count(); n != [2]int{1000, 0} {
		t.Errorf("priorities 0 and 1: %v requests", n)
	}
}

// TestRestore: what is known of endpoints passes to those that replace them.
func TestRestore(t *testing.T) {
	t.Parallel()
	config := balance.Config{Outlier: &balance.Outlier{Failures: 1, EjectionTime: time.Hour, MaxEjectionTime: time.Hour}}
	before := several(5, config)
	only(t, before, before.All()[0], 1, balance.Unavailable, 0)
	before.SetDown(before.All()[1], true)
	before.All()[2].SetDrained(true)
	before.All()[3].SetWeight(7)
	states := func(e *balance.Endpoint) (balance.State, bool) {
		if i := e.Value.(int); i < 5 {
			return before.All()[i].State(), true
		}
		return balance.State{}, false
	}
	shorter := config
	shorter.Outlier = &balance.Outlier{EjectionTime: time.Minute, MaxEjectionTime: time.Minute}
	for _, row := range []struct {
		name    string
		config  balance.Config
		ejected time.Duration
		asked   int // of 6
	}{
		{"the same", config, time.Hour, 3},
		{"shorter ejections", shorter, time.Minute, 3},
		{"no ejection", balance.Config{}, 0, 4},
	} {
		after := several(6, row.config)
		after.Restore(states, 0)
		all := after.All()
		if got := len(asked(t, after, 0)); got != row.asked {
			t.Errorf("%s: %d endpoints get requests, want %d", row.name, got, row.asked)
		}
		if got := all[0].Stats(0).Ejected; got != row.ejected {
			t.Errorf("%s: ejected until %v, want %v", row.name, got, row.ejected)
		}
		if !all[1].Down() || !all[2].Stats(0).Drained || all[3].Weight() != 7 || all[4].Weight() != 1 {
			t.Errorf("%s: a state is lost: %+v", row.name, all)
		}
	}
}
