package discovery_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/discovery"
)

// results is a source that returns what a test sends.
type results struct {
	name string
	list chan []discovery.Endpoint
	errs chan error
}

func newResults(name string) *results {
	return &results{name, make(chan []discovery.Endpoint), make(chan error)}
}

func (r *results) String() string { return r.name }

func (r *results) Next(ctx context.Context) ([]discovery.Endpoint, error) {
	select {
	case list := <-r.list:
		return list, nil
	case err := <-r.errs:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func list(addresses ...string) []discovery.Endpoint {
	all := make([]discovery.Endpoint, len(addresses))
	for i, a := range addresses {
		all[i] = discovery.Endpoint{Addr: a, Weight: i + 1}
	}
	return all
}

// TestService checks that a service merges its sources, keeps what a failing source has found, and logs the first failure.
func TestService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := newResults("a"), newResults("b")
		var log bytes.Buffer
		var failed atomic.Int64
		s := discovery.New(&discovery.Config{
			Sources: []discovery.Source{a, discovery.Static(list("192.0.2.9:80")...), b},
			Log:     slog.New(slog.NewTextHandler(&log, nil)),
			Failed:  &failed,
		})
		var found sync.WaitGroup
		found.Go(func() { s.Find(t.Context()) })
		a.list <- list("192.0.2.1:80", "192.0.2.2:80")
		found.Wait() // b finds nothing within 5 s
		expect := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := text(s.Endpoints()); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		expect("192.0.2.1:80  0/1, 192.0.2.2:80  0/2, 192.0.2.9:80  0/1")
		if source, seeking := s.Seeking(); seeking {
			t.Errorf("%s neither works nor fails after Find", source)
		}

		ctx, cancel := context.WithCancel(t.Context())
		var changes atomic.Int64
		found.Go(func() { s.Run(ctx, func() { changes.Add(1) }) })
		b.list <- list("192.0.2.9:80", "192.0.2.8:80") // 192.0.2.9 stays the one of the list
		expect("192.0.2.1:80  0/1, 192.0.2.2:80  0/2, 192.0.2.9:80  0/1, 192.0.2.8:80  0/2")
		a.errs <- errors.New("broken")
		a.errs <- errors.New("broken")
		expect("192.0.2.1:80  0/1, 192.0.2.2:80  0/2, 192.0.2.9:80  0/1, 192.0.2.8:80  0/2")
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "a: broken") {
			t.Errorf("the service has the error %v", err)
		}
		a.list <- list()
		expect("192.0.2.9:80  0/1, 192.0.2.8:80  0/2")
		if err := s.Err(); err != nil {
			t.Errorf("the service has the error %v after all is well", err)
		}
		if got := changes.Load(); got != 4 {
			t.Errorf("%d changes, want 4", got)
		}
		if got := failed.Load(); got != 3 { // once b in Find
			t.Errorf("%d failures, want 3", got)
		}
		cancel()
		found.Wait()
		for line, want := range map[string]int{"source=a err=broken": 1, `"discovery: endpoints are found again" source=a`: 1, "source=b err=": 1, "context canceled": 0} {
			if got := strings.Count(log.String(), line); got != want {
				t.Errorf("%d lines with %s, want %d:\n%s", got, line, want, log.String())
			}
		}
	})
}

// TestServiceSeeking checks that a service tells which source it waits for, until all have found something or failed.
func TestServiceSeeking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := newResults("a"), newResults("b")
		s := discovery.New(&discovery.Config{Sources: []discovery.Source{discovery.Static(list("192.0.2.9:80")...), a, b}, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		var ran sync.WaitGroup
		ran.Go(func() { s.Run(ctx, func() {}) })
		expect := func(source string, seeking bool) {
			t.Helper()
			synctest.Wait()
			if got, is := s.Seeking(); got != source || is != seeking {
				t.Errorf("got %q, %v, want %q, %v", got, is, source, seeking)
			}
		}
		expect("a", true)
		a.errs <- errors.New("broken")
		expect("b", true)
		b.list <- list("192.0.2.1:80")
		expect("", false)
		if got := text(s.Endpoints()); got != "192.0.2.9:80  0/1, 192.0.2.1:80  0/1" {
			t.Errorf("got %s", got)
		}
		cancel()
		ran.Wait()
	})
}

// TestServiceInherits checks that a source without endpoints yet has those of the service before.
func TestServiceInherits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, again, other := newResults("a"), newResults("a"), newResults("b")
		before := discovery.New(&discovery.Config{Sources: []discovery.Source{first}})
		go func() { first.list <- list("192.0.2.1:80") }()
		before.Find(t.Context())
		log := slog.New(slog.DiscardHandler)
		s := discovery.New(&discovery.Config{Sources: []discovery.Source{other, again}, Log: log})
		s.Inherit(before)
		began := time.Now()
		s.Find(t.Context())
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("Find took %v with silent sources, want 5s", took)
		}
		if got := text(s.Endpoints()); got != "192.0.2.1:80  0/1" {
			t.Errorf("got %s", got)
		}
	})
}
