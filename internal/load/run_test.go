package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/balance"
)

// server is a Target whose requests take time, and fail.
type server struct {
	serve   func(ctx context.Context, n int) error // n counts from 1
	refuse  error
	calls   atomic.Int64
	clients atomic.Int64 // that are open
	most    atomic.Int64 // calls at a time
	now     atomic.Int64
}

func (s *server) Connect(context.Context, int) (Client, error) {
	if s.refuse != nil {
		return nil, s.refuse
	}
	s.clients.Add(1)
	return &serverClient{server: s}, nil
}

type serverClient struct {
	*server
	once sync.Once
}

func (c *serverClient) Close() { c.once.Do(func() { c.clients.Add(-1) }) }

func (c *serverClient) Do(ctx context.Context) error {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	return c.serve(ctx, int(c.calls.Add(1)))
}

// takes returns a serve that sleeps.
func takes(d time.Duration) func(context.Context, int) error {
	return func(ctx context.Context, _ int) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// bubbleClock is the clock of a bubble of synctest. Its sleeps take longer by late.
type bubbleClock struct {
	start time.Time
	late  time.Duration
}

func (c bubbleClock) now() time.Duration { return time.Since(c.start) }
func (c bubbleClock) close()             {}

func (c bubbleClock) sleepUntil(ctx context.Context, at time.Duration) {
	select {
	case <-time.After(at - c.now() + c.late):
	case <-ctx.Done():
	}
}

// run runs a load in a bubble.
func run(t *testing.T, ctx context.Context, cfg *Config, s *server, late time.Duration) *Result {
	t.Helper()
	l, err := New(cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	l.clock = bubbleClock{time.Now(), late}
	r, err := l.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if open := s.clients.Load(); open != 0 {
		t.Errorf("%d clients are open after the run", open)
	}
	return r
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{serve: takes(time.Millisecond)}
		r := run(t, t.Context(), &Config{Workers: 10, Requests: 1000}, s, 0)
		if r.Sent != 1000 || r.Received != 1000 || r.OK != 1000 || r.Failed != 0 || s.calls.Load() != 1000 || s.most.Load() != 10 {
			t.Errorf("got %+v, %d calls, %d at a time, want 1000 and 10", r, s.calls.Load(), s.most.Load())
		}
		if r.Took != 100*time.Millisecond || r.Throughput() != 10_000 || r.Latency.Min() != time.Millisecond || r.Latency.Max() != time.Millisecond || r.Void != "" {
			t.Errorf("took %v, %v/s, latency %v to %v, void %q", r.Took, r.Throughput(), r.Latency.Min(), r.Latency.Max(), r.Void)
		}
		s = &server{serve: takes(time.Millisecond)}
		r = run(t, t.Context(), &Config{Workers: 2, Duration: 100 * time.Millisecond, WarmUp: 50 * time.Millisecond}, s, 0)
		if r.OK != 200 || s.calls.Load() != 300 || r.Took != 100*time.Millisecond {
			t.Errorf("a warm-up: %d OK of %d calls in %v, want 200 of 300 in 100ms", r.OK, s.calls.Load(), r.Took)
		}
	})
}

func TestOpenLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, t.Context(), &Config{Rate: 1000, Constant: true, Duration: time.Second, WarmUp: time.Second}, &server{serve: takes(3 * time.Millisecond)}, 0)
		if r.Sent != 1000 || r.OK != 1000 || r.Latency.Max() != 3*time.Millisecond || r.Late.Max() != 0 || r.Void != "" {
			t.Errorf("constant: sent %d, %d OK, latency at most %v, lateness at most %v, void %q", r.Sent, r.OK, r.Latency.Max(), r.Late.Max(), r.Void)
		}
		r = run(t, t.Context(), &Config{Rate: 1000, Duration: 20 * time.Second}, &server{serve: takes(time.Microsecond)}, 0)
		if r.Sent < 19_000 || r.Sent > 21_000 || r.OK != r.Sent { // 7 standard deviations
			t.Errorf("Poisson: sent %d, %d OK, want about 20000", r.Sent, r.OK)
		}
		r = run(t, t.Context(), &Config{Rate: 1000, Requests: 50}, &server{serve: takes(0)}, 0)
		if r.Sent != 50 || r.OK != 50 {
			t.Errorf("with Requests: sent %d, %d OK, want 50", r.Sent, r.OK)
		}
	})
}

// TestStall checks that a server that stalls once makes all requests slow that were due in the meantime.
func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stalls := &server{serve: func(ctx context.Context, n int) error {
			if n == 500 {
				return takes(500*time.Millisecond)(ctx, n)
			}
			return nil
		}}
		r := run(t, t.Context(), &Config{Rate: 1000, Constant: true, Workers: 1, Duration: time.Second}, stalls, 0)
		if got := r.Latency.Quantile(0.75); got < 240*time.Millisecond || got > 260*time.Millisecond || r.Void != "" {
			t.Errorf("the 75th percentile is %v, want about 250ms; void %q", got, r.Void)
		}
	})
}

func TestVoid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// The server is fast, and the clock wakes the generator late, as when it gets no CPU.
		cfg := &Config{Rate: 100, Duration: 10 * time.Second}
		r := run(t, t.Context(), cfg, &server{serve: takes(0)}, 5*time.Millisecond)
		if want := "the generator was late: the 99th percentile of its lateness is 5"; len(r.Void) < len(want) || r.Void[:len(want)] != want {
			t.Errorf("a starved generator: void %q, want %q...", r.Void, want)
		}
		if r.Latency.Quantile(0.5) < 4*time.Millisecond {
			t.Errorf("a median of %v: want the generator's delay in it", r.Latency.Quantile(0.5))
		}
		cfg.MaxLate = 50 * time.Millisecond
		if r := run(t, t.Context(), cfg, &server{serve: takes(0)}, 5*time.Millisecond); r.Void != "" {
			t.Errorf("with a higher limit: void %q", r.Void)
		}
		// A busy worker makes a request wait. That is the server's delay.
		if r := run(t, t.Context(), &Config{Rate: 1000, Constant: true, Requests: 100, Workers: 1}, &server{serve: takes(20 * time.Millisecond)}, 0); r.Void != "" || r.Late.Max() != 0 || r.OK != 100 {
			t.Errorf("a slow server: void %q, lateness %v, %d OK", r.Void, r.Late.Max(), r.OK)
		}
		r = run(t, t.Context(), &Config{Rate: 100, Constant: true, Requests: 100, Workers: 1, Drain: time.Second}, &server{serve: takes(time.Second)}, 0)
		if r.Void == "" || r.OK+r.Unfinished < 100 || r.Unfinished < 90 {
			t.Errorf("a server that is too slow: void %q, %d OK, %d unfinished", r.Void, r.OK, r.Unfinished)
		}
	})
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, cfg := range []*Config{{Workers: 3, Requests: 1 << 40}, {Rate: 1000, Duration: time.Hour}} {
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Microsecond)
			r := run(t, ctx, cfg, &server{serve: takes(time.Millisecond)}, 0)
			cancel()
			if !r.Interrupted || r.Failed != 0 || r.OK+r.Unfinished != r.Sent || r.Latency.Count() != r.OK {
				t.Errorf("%v: got %+v", cfg, r)
			}
		}
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := run(t, t.Context(), &Config{Workers: 4, Requests: 1000}, &server{serve: func(_ context.Context, n int) error {
			switch {
			case n%10 == 0:
				return &Failure{Kind: "status 503", Received: true, Outcome: balance.Failure, Err: errors.New("want 200")}
			case n%100 == 1:
				return errors.New("broken")
			}
			return nil
		}}, 0)
		if r.OK != 890 || r.Failed != 110 || r.Received != 990 || r.Sent != 1000 || len(r.Failures) != 2 || r.Failures[0] != (FailureCount{"status 503", "failure", 100}) || r.Failures[1] != (FailureCount{"error", "", 10}) || len(r.Examples) != 2 {
			t.Errorf("got %+v", r)
		}
		l, err := New(nil, &server{refuse: errors.New("refused")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Run(t.Context()); err == nil {
			t.Error("Run with no connection: no error")
		}
	})
	for _, bad := range []Config{{Rate: -1}, {Workers: -1}, {Requests: -1}, {Duration: -1}, {WarmUp: -1}, {Drain: -1}, {MaxLate: -1}, {Rate: 1e9}} {
		if _, err := New(&bad, nil); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// TestSystemClock checks that the clock sleeps no less than it should, and ends with its context.
func TestSystemClock(t *testing.T) {
	t.Parallel()
	c := newSystemClock()
	defer c.close()
	for i := range 3 {
		at := c.now() + time.Duration(i)*10*time.Millisecond
		if c.sleepUntil(t.Context(), at); c.now() < at {
			t.Errorf("it is %v after a sleep until %v", c.now(), at)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.sleepUntil(ctx, c.now()+time.Hour)
}
