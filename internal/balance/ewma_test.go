package balance_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/ferry/internal/balance"
)

// TestLatency observes one request per millisecond.
func TestLatency(t *testing.T) {
	t.Parallel()
	const fast, slow = time.Millisecond, 100 * time.Millisecond
	for _, row := range []struct {
		name  string
		slow  int // number of requests that take 100 ms; the following requests take 1 ms
		fast  int
		every time.Duration
		want  time.Duration
	}{
		{"the first one", 0, 1, time.Millisecond, fast},
		{"a peak", 1, 0, time.Millisecond, slow},
		{"half is forgotten after 10 s", 1, 1000, 10 * time.Millisecond, (slow + fast) / 2},
		{"however few requests came", 1, 1, 10 * time.Second, (slow + fast) / 2},
		{"or how many", 1, 100_000, 100 * time.Microsecond, (slow + fast) / 2},
		{"all is forgotten in the end", 1, 2000, 100 * time.Millisecond, fast},
	} {
		c := several(1, balance.Config{})
		now := time.Hour
		one := func(took time.Duration) { pick(t, c, 0, now, nil).Done(balance.Success, balance.OwnRequest, took, now) }
		for range row.slow {
			one(slow)
		}
		for range row.fast {
			now += row.every
			one(fast)
		}
		got := c.All()[0].Stats(0).Latency
		if math.Abs(float64(got-row.want)) > float64(row.want)/50 {
			t.Errorf("%s: got %v, want about %v", row.name, got, row.want)
		}
	}
}

// TestLatencyOutcomes checks that no error changes the latency: a quick one must not make an endpoint look fast, and the time of a slow one
// is often the limit of its caller.
func TestLatencyOutcomes(t *testing.T) {
	t.Parallel()
	for o := balance.Success + 1; o < balance.Outcomes; o++ {
		for _, took := range []time.Duration{0, time.Microsecond, time.Minute} {
			c := several(1, balance.Config{})
			pick(t, c, 0, 0, nil).Done(balance.Success, balance.OwnRequest, 10*time.Millisecond, 0)
			pick(t, c, 0, 0, nil).Done(o, balance.OwnRequest, took, time.Second)
			if got := c.All()[0].Stats(0).Latency.Round(time.Millisecond); got != 10*time.Millisecond {
				t.Errorf("%v after %v: the latency is %v, want 10ms", o, took, got)
			}
		}
	}
	c := several(1, balance.Config{})
	pick(t, c, 0, 0, nil).Done(balance.Success, balance.OwnRequest, -1, 0)
	if got := c.All()[0].Stats(0).Latency; got != 0 {
		t.Errorf("a stream, which has no latency, is counted as %v", got)
	}
}

// TestErrorsDoNotAttract: an endpoint that gives quick errors gets no more requests than its share, whether it has ever had a success or
// not, and however long ago.
func TestErrorsDoNotAttract(t *testing.T) {
	t.Parallel()
	for _, o := range []balance.Outcome{balance.Failure, balance.Rejected, balance.Reset, balance.ConnectFailure} {
		for _, worked := range []bool{false, true} {
			c := weighted(balance.Config{Policy: balance.EWMA}, 1, 1)
			bad := c.All()[0]
			now, failed := time.Duration(0), 0
			if worked {
				for bad.Stats(0).Latency == 0 {
					pick(t, c, rand.Uint64(), now, nil).Done(balance.Success, balance.OwnRequest, time.Millisecond, now)
				}
			}
			const n = 400
			for range n {
				now += time.Second // so that latencies decay
				if e := pick(t, c, rand.Uint64(), now, nil); e == bad {
					failed++
					e.Done(o, balance.OwnRequest, time.Microsecond, now)
				} else {
					e.Done(balance.Success, balance.OwnRequest, 5*time.Millisecond, now)
				}
			}
			if failed > n*6/10 {
				t.Errorf("%v, success before: %v: the endpoint got %d of %d requests", o, worked, failed, n)
			}
		}
	}
}

// TestLatencyClocks checks clocks that differ: each loop reads its clock once per turn, so one clock may be a little
// behind another.
func TestLatencyClocks(t *testing.T) {
	t.Parallel()
	c := several(1, balance.Config{})
	for _, now := range []time.Duration{time.Second, 990 * time.Millisecond, 0, time.Second} {
		pick(t, c, 0, now, nil).Done(balance.Success, balance.OwnRequest, 50*time.Millisecond, now)
		pick(t, c, 0, now, nil).Done(balance.Success, balance.OwnRequest, time.Millisecond, now)
		if got := c.All()[0].Stats(0).Latency.Round(time.Millisecond); got != 50*time.Millisecond {
			t.Errorf("at %v: got %v, want 50ms", now, got)
		}
	}
}

// TestEWMA simulates endpoints of different speed, each of which serves one request at a time. The request rate is so
// high that the slow endpoint could not serve half of the requests.
func TestEWMA(t *testing.T) {
	t.Parallel()
	service := []time.Duration{time.Millisecond, time.Millisecond, 20 * time.Millisecond}
	waits := map[balance.Policy]time.Duration{}
	for _, b := range []balance.Policy{balance.EWMA, balance.RoundRobin} {
		c := weighted(balance.Config{Policy: b}, 1, 1, 1)
		type request struct {
			e           *balance.Endpoint
			began, ends time.Duration
		}
		var flying []request
		free := make([]time.Duration, len(service))
		r := rand.New(rand.NewPCG(7, 8))
		const n = 3000
		for i := range n {
			now := time.Duration(i) * time.Millisecond
			flying = slices.DeleteFunc(flying, func(f request) bool {
				if f.ends > now {
					return false
				}
				f.e.Done(balance.Success, balance.OwnRequest, f.ends-f.began, f.ends)
				return true
			})
			e := pick(t, c, r.Uint64(), now, nil)
			k := e.Value.(int)
			free[k] = max(free[k], now) + service[k]
			flying = append(flying, request{e, now, free[k]})
			waits[b] += (free[k] - now) / n
		}
	}
	if ewma, rr := waits[balance.EWMA], waits[balance.RoundRobin]; ewma > 5*time.Millisecond || ewma > rr/100 {
		t.Errorf("mean time of a request: %v, by round-robin %v; want at most 5 ms and a hundredth of that", ewma, rr)
	}
}

// TestNewcomer checks that an endpoint without a measured latency gets one request, and no other request until the
// response.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	c := weighted(balance.Config{Policy: balance.EWMA}, 1, 1)
	known := pick(t, c, 0, 0, nil)
	known.Done(balance.Success, balance.OwnRequest, 10*time.Millisecond, 0)
	fresh := pick(t, c, 0, 0, nil)
	if fresh == known {
		t.Fatal("the newcomer was not tried")
	}
	for range 20 {
		if e := pick(t, c, rand.Uint64(), 0, nil); e == fresh {
			t.Fatal("the newcomer got a second request before the first was answered")
		}
	}
	fresh.Done(balance.Success, balance.OwnRequest, 10*time.Millisecond, 0)
	if e := pick(t, c, rand.Uint64(), 0, nil); e != fresh {
		t.Error("the newcomer, which is idle, got nothing beside a busy one")
	}
}
