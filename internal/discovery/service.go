package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// findTimeout bounds Find for sources that have no limit of their own.
const findTimeout = 5 * time.Second

// Config configures a Service.
type Config struct {
	// Sources find the endpoints. Each belongs to one Service.
	Sources []Source

	// Log gets a line when a source begins to fail, and when it works again. Nil means slog.Default.
	Log *slog.Logger

	// Failed counts the failures of sources. It may be nil.
	Failed *atomic.Int64
}

// Service is what several sources know of the endpoints of a service.
type Service struct {
	sources []*followed
	log     *slog.Logger
	failed  *atomic.Int64
}

// followed is a source and what it has found.
type followed struct {
	Source

	mu   sync.Mutex
	list []Endpoint
	err  error // of the last call of Next
	used bool  // Next has returned
}

// New creates a service that knows the endpoints of its static sources.
func New(c *Config) *Service {
	s := &Service{log: c.Log, failed: c.Failed}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.failed == nil {
		s.failed = &atomic.Int64{}
	}
	for _, src := range c.Sources {
		f := &followed{Source: src}
		if fixed, ok := src.(*static); ok {
			f.list, f.used = fixed.list, true
		}
		s.sources = append(s.sources, f)
	}
	return s
}

// Inherit gives the sources of s what those of the same name have found for before. A source has it until it finds endpoints
// itself. before may be nil. It is called before Find.
func (s *Service) Inherit(before *Service) {
	if before == nil {
		return
	}
	known := map[string]*followed{}
	for _, f := range before.sources {
		known[f.String()] = f
	}
	for _, f := range s.sources {
		if old := known[f.String()]; old != nil && !f.used {
			f.list = old.endpoints()
		}
	}
}

// Find lets each source find its endpoints once. Run retries those that fail. It takes at most 5 s, with the sources of this
// package at most 2 s.
func (s *Service) Find(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, f := range s.sources {
		if _, ok := f.Source.(*static); !ok {
			all.Go(func() { s.next(ctx, within, f) })
		}
	}
	all.Wait()
}

// Run follows the sources until ctx ends. If Find was called, it has returned before. changed is called after each change of
// Endpoints, Err or Seeking, by several goroutines at the same time.
func (s *Service) Run(ctx context.Context, changed func()) {
	var all sync.WaitGroup
	for _, f := range s.sources {
		if _, ok := f.Source.(*static); ok {
			continue
		}
		all.Go(func() {
			for ctx.Err() == nil {
				s.next(ctx, ctx, f)
				if ctx.Err() == nil {
					changed()
				}
			}
		})
	}
	all.Wait()
}

// next calls Next within a context that ctx includes.
func (s *Service) next(ctx, within context.Context, f *followed) {
	list, err := f.Next(within)
	failing := f.failure() != nil
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		s.failed.Add(1)
		if !failing {
			s.log.Warn("discovery: cannot find endpoints: those known so far stay", "source", f.String(), "err", err)
		}
	case failing:
		s.log.Info("discovery: endpoints are found again", "source", f.String())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err, f.used = err, true; list != nil {
		f.list = list
	}
}

// Seeking returns a source that has neither found endpoints nor failed so far. Without one, seeking is false.
func (s *Service) Seeking() (source string, seeking bool) {
	for _, f := range s.sources {
		f.mu.Lock()
		used := f.used
		f.mu.Unlock()
		if !used {
			return f.String(), true
		}
	}
	return "", false
}

// Err returns the errors of the sources that fail, joined, or nil.
func (s *Service) Err() error {
	var errs []error
	for _, f := range s.sources {
		if err := f.failure(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f, err))
		}
	}
	return errors.Join(errs...)
}

// Endpoints returns the endpoints of all sources, in the order of the sources. An address that two sources have found is the
// first one's. The caller may change the list.
func (s *Service) Endpoints() []Endpoint {
	var all []Endpoint
	listed := map[string]bool{}
	for _, f := range s.sources {
		for _, e := range f.endpoints() {
			if !listed[e.Addr] {
				listed[e.Addr] = true
				all = append(all, e)
			}
		}
	}
	return all
}

func (f *followed) endpoints() []Endpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list
}

func (f *followed) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
