package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/upstream"
)

// ward has endpoints whose health is set by the test.
type ward struct {
	mu   sync.Mutex
	ill  map[string]bool
	hang bool
	seen map[string][]time.Time
}

func (w *ward) probe(ctx context.Context, at loop.Addr) error {
	w.mu.Lock()
	ill, hang := w.ill[at.String()], w.hang
	w.seen[at.String()] = append(w.seen[at.String()], time.Now())
	w.mu.Unlock()
	switch {
	case hang:
		<-ctx.Done()
		return ctx.Err()
	case ill:
		return errors.New("fever")
	}
	return nil
}

func (w *ward) set(ill bool, addresses ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range addresses {
		w.ill[a] = ill
	}
}

func (w *ward) last(address string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[address][len(w.seen[address])-1]
}

func (w *ward) probes(address string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen[address])
}

// run starts c.Run and returns a function that stops it.
func run(c *upstream.Cluster) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		c.Run(ctx)
		close(ended)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func addresses(c *upstream.Cluster) (up, down []string) {
	for _, e := range c.Snapshot().Endpoints {
		if e.Healthy {
			up = append(up, e.Address)
		} else {
			down = append(down, e.Address)
		}
	}
	return up, down
}

func TestHealth(t *testing.T) {
	t.Parallel()
	const a, b = "192.0.2.1:80", "192.0.2.2:80"
	g := loops(t, 1)
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		cfg := at(a, b)
		cfg.Health = &upstream.Health{Kind: upstream.HealthTCP, Interval: 10 * time.Second}
		c, err := upstream.New(cfg, g, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		w := &ward{ill: map[string]bool{}, seen: map[string][]time.Time{}}
		c.ProbeWith(w.probe)
		w.set(true, a)
		began := time.Now()
		defer run(c)()

		// after waits until address was probed n more times.
		after := func(n int, address string) {
			t.Helper()
			for want := w.probes(address) + n; w.probes(address) < want; {
				time.Sleep(time.Second)
			}
			synctest.Wait()
		}
		down := func(want ...string) {
			t.Helper()
			if _, got := addresses(c); strings.Join(got, " ") != strings.Join(want, " ") {
				t.Fatalf("down: %q, want %q", got, want)
			}
		}

		synctest.Wait()
		if !w.last(a).Equal(began) || !w.last(b).Equal(began) {
			t.Error("the first check does not come at once")
		}
		down()
		after(1, a)
		if pause := w.last(a).Sub(began); pause > 10*time.Second {
			t.Errorf("the second check came after %v, want at most the interval", pause)
		}
		second := w.last(a)
		down()
		after(1, a)
		if pause := w.last(a).Sub(second); pause != 10*time.Second {
			t.Errorf("the third check came %v after the second, want the interval", pause)
		}
		down(a)
		for e := range asked(t, c) {
			if e.Addr().String() == a {
				t.Error("an endpoint that is down gets requests")
			}
		}

		w.set(false, a)
		after(1, a)
		w.set(true, a)
		after(1, a) // the count of failures in a row starts again
		w.set(false, a)
		after(1, a)
		down(a)
		after(1, a)
		down()

		w.set(true, a, b)
		after(3, a)
		after(3, b)
		down(a, b)
		if _, err := c.Pick(1, 0, nil); !errors.Is(err, upstream.ErrNoEndpoint) {
			t.Errorf("with all endpoints down: got %v, want %v", err, upstream.ErrNoEndpoint)
		}
		w.set(false, b)
		after(2, b)
		down(a)

		s := c.Snapshot()
		if s.ChecksFailed < 10 || s.Endpoints[0].Downs != 2 || s.Endpoints[1].Downs != 1 || s.Active != 0 {
			t.Errorf("got %+v", s)
		}
		for line, n := range map[string]int{
			`msg="upstream: an endpoint is down" cluster=it endpoint=` + a + ` err=fever`: 2,
			`msg="upstream: an endpoint is up again" cluster=it endpoint=` + b:            1,
		} {
			if got := strings.Count(log.String(), line); got != n {
				t.Errorf("%d lines with %s, want %d, in\n%s", got, line, n, log.String())
			}
		}
	})
}

// If this process has no descriptor left for a probe, the probe's failure does not affect the endpoint's health.
func TestHealthWithoutDescriptors(t *testing.T) {
	t.Parallel()
	g := loops(t, 1)
	synctest.Test(t, func(t *testing.T) {
		cfg := at("192.0.2.1:80")
		cfg.Health = &upstream.Health{Kind: upstream.HealthTCP, Interval: time.Second, Unhealthy: 1}
		c, err := upstream.New(cfg, g, nil)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		c.ProbeWith(func(context.Context, loop.Addr) error {
			asked++
			return &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
		})
		stop := run(c)
		time.Sleep(10 * time.Second)
		stop()
		if _, down := addresses(c); len(down) > 0 || asked < 5 {
			t.Errorf("down after %d checks: %q", asked, down)
		}
		if got := c.Snapshot().ChecksFailed; got != int64(asked) {
			t.Errorf("%d of %d failed checks are counted", got, asked)
		}
	})
}

func TestHealthTimeout(t *testing.T) {
	t.Parallel()
	g := loops(t, 1)
	synctest.Test(t, func(t *testing.T) {
		cfg := at("192.0.2.1:80")
		cfg.Health = &upstream.Health{Kind: upstream.HealthTCP, Timeout: 2 * time.Second, Unhealthy: 1}
		c, err := upstream.New(cfg, g, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		c.ProbeWith((&ward{hang: true, seen: map[string][]time.Time{}}).probe)
		stop := run(c)
		time.Sleep(2*time.Second - time.Nanosecond)
		synctest.Wait()
		if up, _ := addresses(c); len(up) != 1 {
			t.Error("down before the check's time was over")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if up, _ := addresses(c); len(up) != 0 {
			t.Error("a check that gets no answer does not fail")
		}
		time.Sleep(6 * time.Second) // during the second check or after it
		failed := c.Snapshot().ChecksFailed
		stop()
		if got := c.Snapshot().ChecksFailed; got != failed {
			t.Error("a check that was given up counts as failed")
		}
	})
}

// TestHealthOverEjection checks that an endpoint that is down gets no requests even if all others are ejected.
func TestHealthOverEjection(t *testing.T) {
	t.Parallel()
	const a = "192.0.2.1:80"
	g := loops(t, 1)
	synctest.Test(t, func(t *testing.T) {
		cfg := ejecting(3, upstream.Outlier{Failures: 1, EjectionTime: time.Minute, MaxEjected: 100})
		cfg.Health = &upstream.Health{Kind: upstream.HealthTCP, Unhealthy: 1}
		c, err := upstream.New(cfg, g, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		w := &ward{ill: map[string]bool{a: true}, seen: map[string][]time.Time{}}
		c.ProbeWith(w.probe)
		defer run(c)()
		synctest.Wait()
		for e := range asked(t, c) {
			only(t, c, e, 1, upstream.Failure)
		}
		for e := range asked(t, c) {
			if e.Addr().String() == a {
				t.Error("an endpoint that is down gets requests as the others are ejected")
			}
		}
		if got := len(asked(t, c)); got != 2 {
			t.Errorf("%d endpoints are asked while all that are not down are ejected, want 2", got)
		}
	})
}

// TestLastErrorExplainsTheState: requests and health checks fail in the same second, and the last error is of those that keep the endpoint
// out of use.
func TestLastErrorExplainsTheState(t *testing.T) {
	t.Parallel()
	const a = "192.0.2.1:80"
	g := loops(t, 1)
	synctest.Test(t, func(t *testing.T) {
		cfg := ejecting(2, upstream.Outlier{Failures: 1, EjectionTime: time.Hour})
		cfg.Health = &upstream.Health{Kind: upstream.HealthTCP, Interval: time.Minute, Unhealthy: 2, Healthy: 1}
		c, err := upstream.New(cfg, g, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		w := &ward{ill: map[string]bool{a: true}, seen: map[string][]time.Time{}}
		c.ProbeWith(w.probe)
		defer run(c)()
		last := func(want string) {
			t.Helper()
			s := c.Snapshot().Endpoints[0]
			if got := fmt.Sprintf("healthy %v, ejected %v: %v", s.Healthy, s.Ejected != 0, s.LastErr); s.Address != a || got != want {
				t.Fatalf("%s is %s, want %s", s.Address, got, want)
			}
		}
		synctest.Wait()
		last("healthy true, ejected false: fever")
		for picked := ""; picked != a; {
			e := pick(t, c, rand.Uint64(), nil)
			if picked = e.Addr().String(); picked == a {
				e.Failed(balance.OwnRequest, upstream.ConnectFailure, 0, g.Now(), func() error { return errors.New("refused") })
			} else {
				e.Done(upstream.Canceled, 0, g.Now())
			}
		}
		last("healthy true, ejected true: refused")
		time.Sleep(time.Minute)
		synctest.Wait()
		last("healthy false, ejected true: fever")
		w.set(false, a)
		time.Sleep(time.Minute)
		synctest.Wait()
		last("healthy true, ejected true: refused")
	})
}
