package upstream_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"example.com/ferry/proxy/upstream"
)

// asked calls Pick often enough to get every endpoint in use, and returns these endpoints.
func asked(t *testing.T, c *upstream.Cluster, now time.Duration) map[*upstream.Endpoint]bool {
	t.Helper()
	seen := map[*upstream.Endpoint]bool{}
	for range 200 {
		e := pick(t, c, rand.Uint64(), now, nil)
		e.Done(upstream.Canceled, 0, now)
		seen[e] = true
	}
	return seen
}

// only ends n requests to e with outcome o.
func only(t *testing.T, c *upstream.Cluster, e *upstream.Endpoint, n int, o upstream.Outcome, now time.Duration) {
	t.Helper()
	for range n {
		for {
			got := pick(t, c, rand.Uint64(), now, nil)
			if got == e {
				got.Done(o, 0, now)
				break
			}
			got.Done(upstream.Canceled, 0, now)
		}
	}
}

func ejecting(n int, o upstream.Outlier) *upstream.Config {
	c := several(n, upstream.LeastRequest, false)
	c.Outlier = &o
	return c
}

func TestEjection(t *testing.T) {
	t.Parallel()
	for _, o := range []upstream.Outcome{upstream.Failure, upstream.ConnectFailure, upstream.Reset, upstream.Timeout} {
		c := cluster(t, ejecting(3, upstream.Outlier{Failures: 3, EjectionTime: time.Minute}))
		bad := pick(t, c, 0, 0, nil)
		bad.Done(o, 0, 0)
		only(t, c, bad, 1, o, 0)
		only(t, c, bad, 1, upstream.Success, 0)
		only(t, c, bad, 2, o, 0)
		if !asked(t, c, 0)[bad] {
			t.Fatalf("%v: ejected, though no three requests in a row failed", o)
		}
		only(t, c, bad, 1, upstream.Success, 0)
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
		only(t, c, bad, 1, upstream.Success, at)
		only(t, c, bad, 3, o, at)
		if asked(t, c, at+time.Minute-1)[bad] || !asked(t, c, at+time.Minute)[bad] {
			t.Errorf("%v: a success does not make the next ejection a first one", o)
		}
	}
}

// TestLateFailures checks that an ejection is not prolonged by failures of earlier requests.
func TestLateFailures(t *testing.T) {
	t.Parallel()
	c := cluster(t, ejecting(2, upstream.Outlier{Failures: 1, EjectionTime: time.Minute}))
	var flying []*upstream.Endpoint
	bad := pick(t, c, 0, 0, nil)
	for range 40 {
		if e := pick(t, c, rand.Uint64(), 0, nil); e == bad {
			flying = append(flying, e)
		}
	}
	bad.Done(upstream.Reset, 0, 0)
	for _, e := range flying {
		e.Done(upstream.Reset, 0, time.Second)
	}
	if len(flying) == 0 || asked(t, c, time.Minute-1)[bad] || !asked(t, c, time.Minute)[bad] {
		t.Errorf("%d requests failed later, and the ejection was not of one minute", len(flying))
	}
	if got := c.Snapshot().Endpoints; got[0].Ejections+got[1].Ejections != 1 {
		t.Errorf("%d ejections, want 1", got[0].Ejections+got[1].Ejections)
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
		c := cluster(t, ejecting(row.n, upstream.Outlier{Failures: 1, EjectionTime: time.Minute, MaxEjected: row.percent}))
		for range 1000 {
			pick(t, c, rand.Uint64(), 0, nil).Done(upstream.Failure, 0, 0)
		}
		got := 0
		for _, e := range c.Snapshot().Endpoints {
			if e.Ejected == time.Minute {
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
	c := cluster(t, at("192.0.2.1:80", "192.0.2.2:80"))
	for range 1000 {
		pick(t, c, rand.Uint64(), 0, nil).Done(upstream.Failure, 0, 0)
	}
	if n := len(asked(t, c, 0)); n != 2 {
		t.Errorf("%d of 2 endpoints are in use, though ejection is not configured", n)
	}
}
