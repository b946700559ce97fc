package balance_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"example.com/ferry/internal/balance"
)

// ejects sends n requests through c, a millisecond apart and of two callers in turn, and returns how many of them bad has got before it was
// ejected, or -1 if it was not. respond returns the outcome of the i-th request at an endpoint.
func ejects(t *testing.T, c *balance.Set, bad *balance.Endpoint, n int, caller func(i int) balance.Caller, respond func(e *balance.Endpoint, i int) balance.Outcome) int {
	t.Helper()
	got := map[*balance.Endpoint]int{}
	for i := range n {
		now := time.Duration(i) * time.Millisecond
		e := pick(t, c, rand.Uint64(), now, nil)
		got[e]++
		e.Done(respond(e, got[e]), caller(i), time.Millisecond, now)
		if bad.Stats(now).Ejected > 0 {
			return got[bad]
		}
	}
	return -1
}

func one(int) balance.Caller   { return 7 }
func two(i int) balance.Caller { return balance.Caller(7 + i/2%2) } // two in turn, at each of two endpoints
func own(int) balance.Caller   { return balance.OwnRequest }

// TestRatio: errors of a handler eject its endpoint only if nearly all calls fail, of more than one caller, while another endpoint is healthy.
func TestRatio(t *testing.T) {
	t.Parallel()
	always := func(o balance.Outcome) func(int) balance.Outcome {
		return func(int) balance.Outcome { return o }
	}
	mostly := func(percent int) func(int) balance.Outcome {
		return func(i int) balance.Outcome {
			if i*percent/100 > (i-1)*percent/100 {
				return balance.Failure
			}
			return balance.Success
		}
	}
	for _, row := range []struct {
		name       string
		caller     func(i int) balance.Caller
		bad, other func(i int) balance.Outcome
		want       int // calls until the ejection; -1 means none
	}{
		{"failures", two, always(balance.Failure), always(balance.Success), 20},
		{"resets", two, always(balance.Reset), always(balance.Success), 20},
		{"timeouts", two, always(balance.Timeout), always(balance.Success), 20},
		{"a program's own requests", own, always(balance.Failure), always(balance.Success), 20},
		{"of one caller", one, always(balance.Failure), always(balance.Success), -1},
		{"four of five", two, mostly(80), always(balance.Success), -1},
		{"nine of ten", two, mostly(90), always(balance.Success), 20},
		{"errors of callers", two, always(balance.Rejected), always(balance.Success), -1},
		{"callers that leave", two, always(balance.Canceled), always(balance.Success), -1},
		{"the other one fails, too", two, always(balance.Failure), always(balance.Failure), -1},
		{"the other one fails half of the time", two, always(balance.Failure), mostly(50), -1},
		{"the other one only refuses", two, always(balance.Failure), always(balance.Rejected), 20},
	} {
		c := several(2, balance.Config{Policy: balance.RoundRobin, Outlier: &balance.Outlier{EjectionTime: time.Hour}})
		bad := c.All()[0]
		got := ejects(t, c, bad, 400, row.caller, func(e *balance.Endpoint, i int) balance.Outcome {
			if e == bad {
				return row.bad(i)
			}
			return row.other(i)
		})
		if row.want < 0 && got >= 0 || row.want >= 0 && (got < row.want || got > row.want+2) {
			t.Errorf("%s: ejected after %d calls, want %d", row.name, got, row.want)
		}
		if out := c.All()[1].Stats(0).Ejections; out != 0 && row.name != "the other one fails, too" {
			t.Errorf("%s: the other endpoint was ejected", row.name)
		}
	}
}

// TestRatioAfterLongHealth: a million successes do not keep an endpoint that has broken.
func TestRatioAfterLongHealth(t *testing.T) {
	t.Parallel()
	c := several(2, balance.Config{Policy: balance.RoundRobin, Outlier: &balance.Outlier{}})
	bad := c.All()[0]
	got := ejects(t, c, bad, 4000, own, func(e *balance.Endpoint, i int) balance.Outcome {
		if e == bad && (i > 1000 || i%100 == 0) {
			return balance.Failure
		}
		return balance.Success
	})
	if got < 1000 || got > 1045 {
		t.Errorf("ejected after %d calls, of which those from the 1001st on failed", got)
	}
}

// TestEjectionTimeCap: the n-th ejection lasts n times as long, and never longer than MaxEjectionTime.
func TestEjectionTimeCap(t *testing.T) {
	t.Parallel()
	c := several(2, balance.Config{Policy: balance.RoundRobin, Outlier: &balance.Outlier{Failures: 1, EjectionTime: time.Minute, MaxEjectionTime: 150 * time.Second}})
	now := time.Duration(0)
	for _, want := range []time.Duration{60 * time.Second, 120 * time.Second, 150 * time.Second, 150 * time.Second} {
		bad := c.All()[0]
		only(t, c, bad, 1, balance.ConnectFailure, now)
		if got := bad.Stats(now).Ejected - now; got != want {
			t.Errorf("an ejection of %v, want %v", got, want)
		}
		now += want
	}
}

func TestOfCode(t *testing.T) {
	t.Parallel()
	want := [...]balance.Outcome{
		balance.Success, balance.Canceled, balance.Failure, balance.Rejected, balance.Rejected, balance.Rejected, balance.Rejected, balance.Rejected,
		balance.Rejected, balance.Rejected, balance.Rejected, balance.Rejected, balance.Rejected, balance.Failure, balance.Unavailable,
		balance.Unavailable, balance.Rejected, balance.Failure,
	}
	for code, want := range want {
		if got := balance.OfCode(uint32(code)); got != want {
			t.Errorf("code %d: %v, want %v", code, got, want)
		}
	}
}

func TestOfStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]balance.Outcome{
		200: balance.Success, 304: balance.Success, 101: balance.Success, 404: balance.Rejected, 429: balance.Rejected, 500: balance.Rejected,
		501: balance.Rejected, 502: balance.Failure, 503: balance.Failure, 504: balance.Failure, 507: balance.Failure,
	} {
		if got := balance.OfStatus(status, []int{507}); got != want {
			t.Errorf("status %d: %v, want %v", status, got, want)
		}
	}
}

func TestCallerAt(t *testing.T) {
	t.Parallel()
	at := func(s string) balance.Caller { return balance.CallerAt(netip.MustParseAddr(s)) }
	for _, row := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8::1", "2001:db8::2:3", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
	} {
		if got := at(row.a) == at(row.b); got != row.same {
			t.Errorf("%s and %s: one caller is %v, want %v", row.a, row.b, got, row.same)
		}
	}
	if balance.CallerAt(netip.Addr{}) == balance.OwnRequest {
		t.Error("an unknown address is trusted as the program itself")
	}
}
