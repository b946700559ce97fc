package balance_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"example.com/ferry/internal/balance"
)

// asked calls Pick often enough to get every endpoint in use, and returns these endpoints.
func asked(t *testing.T, c *balance.Set, now time.Duration) map[*balance.Endpoint]bool {
	t.Helper()
	seen := map[*balance.Endpoint]bool{}
	for range 200 {
		e := pick(t, c, rand.Uint64(), now, nil)
		e.Done(balance.Canceled, balance.OwnRequest, 0, now)
		seen[e] = true
	}
	return seen
}

// only ends n requests to e with outcome o.
func only(t *testing.T, c *balance.Set, e *balance.Endpoint, n int, o balance.Outcome, now time.Duration) {
	t.Helper()
	for range n {
		for {
			got := pick(t, c, rand.Uint64(), now, nil)
			if got == e {
				got.Done(o, balance.OwnRequest, 0, now)
				break
			}
			got.Done(balance.Canceled, balance.OwnRequest, 0, now)
		}
	}
}

func TestEjection(t *testing.T) {
	t.Parallel()
	for _, o := range []balance.Outcome{balance.ConnectFailure, balance.Unavailable} {
		c := several(3, balance.Config{Outlier: &balance.Outlier{Failures: 3, EjectionTime: time.Minute}})
		bad := pick(t, c, 0, 0, nil)
		bad.Done(o, balance.OwnRequest, 0, 0)
		only(t, c, bad, 1, o, 0)
		only(t, c, bad, 1, balance.Success, 0)
		only(t, c, bad, 2, o, 0)
		if !asked(t, c, 0)[bad] {
			t.Fatalf("%v: ejected, though no three requests in a row failed", o)
		}
		only(t, c, bad, 1, balance.Success, 0)
		at := 10 * time.Second
		for n := time.Duration(1); n <= 3; n++ {
			only(t, c, bad, 3, o, at)
			if asked(t, c, at)[bad] {
				t.Fatalf("%v: still asked after its ejection", o)
			}
			if asked(t, c, at+n*time.Minute-1)[bad] {
				t.Fatalf("%v: back too early from ejection %d", o, n)
			}
			at += n * time.Minute
			if !asked(t, c, at)[bad] {
				t.Fatalf("%v: not back after ejection %d", o, n)
			}
		}
		only(t, c, bad, 1, balance.Success, at)
		only(t, c, bad, 3, o, at)
		if asked(t, c, at+time.Minute-1)[bad] || !asked(t, c, at+time.Minute)[bad] {
			t.Errorf("%v: a success does not make the next ejection a first one", o)
		}
	}
}

// TestLateFailures checks that an ejection is not prolonged by failures of earlier requests.
func TestLateFailures(t *testing.T) {
	t.Parallel()
	c := several(2, balance.Config{Outlier: &balance.Outlier{Failures: 1, EjectionTime: time.Minute}})
	var flying []*balance.Endpoint
	bad := pick(t, c, 0, 0, nil)
	for range 40 {
		if e := pick(t, c, rand.Uint64(), 0, nil); e == bad {
			flying = append(flying, e)
		}
	}
	bad.Done(balance.Unavailable, balance.OwnRequest, 0, 0)
	for _, e := range flying {
		e.Done(balance.Unavailable, balance.OwnRequest, 0, time.Second)
	}
	if len(flying) == 0 || asked(t, c, time.Minute-1)[bad] || !asked(t, c, time.Minute)[bad] {
		t.Errorf("%d requests failed later, and the ejection was not of one minute", len(flying))
	}
	if got := c.All()[0].Stats(0).Ejections + c.All()[1].Stats(0).Ejections; got != 1 {
		t.Errorf("%d ejections, want 1", got)
	}
}

// TestMaxEjected checks that only MaxEjected percent of the endpoints are ejected if all fail.
func TestMaxEjected(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ n, percent, want int }{
		{1, 100, 0},
		{2, 1, 1},
		{3, 50, 1},
		{10, 0, 5},
		{10, 29, 2},
		{10, 100, 10},
	} {
		c := several(row.n, balance.Config{Outlier: &balance.Outlier{Failures: 1, EjectionTime: time.Minute, MaxEjected: row.percent}})
		for range 1000 {
			pick(t, c, rand.Uint64(), 0, nil).Done(balance.ConnectFailure, balance.OwnRequest, 0, 0)
		}
		got := 0
		for _, e := range c.All() {
			if e.Stats(0).Ejected == time.Minute {
				got++
			}
		}
		if got != row.want {
			t.Errorf("%d endpoints, at most %d %%: %d ejected, want %d", row.n, row.percent, got, row.want)
		}
		want := row.n - row.want
		if want == 0 {
			want = row.n // if all are ejected, all are used
		}
		if n := len(asked(t, c, 0)); n != want {
			t.Errorf("%d endpoints, at most %d %%: %d are asked, want %d", row.n, row.percent, n, want)
		}
	}
}

func TestNoOutlier(t *testing.T) {
	t.Parallel()
	c := several(2, balance.Config{})
	for range 1000 {
		pick(t, c, rand.Uint64(), 0, nil).Done(balance.ConnectFailure, balance.OwnRequest, 0, 0)
	}
	if n := len(asked(t, c, 0)); n != 2 {
		t.Errorf("%d of 2 endpoints are in use, though ejection is not configured", n)
	}
}
