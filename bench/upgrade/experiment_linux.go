package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.com/ferry/bench/internal/clientload"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/harness"
)

// experiment is what all measurements share.
type experiment struct {
	dir     string // with ferry's binary; set by prepare
	web     *clientload.Web
	systems []system
	notes   []string // about systems that are missing
}

// system is a server that another process can replace.
type system struct {
	name, version string
	cases         []string // nil means all

	// start starts the server for a case.
	start func(e *experiment, dir, name string) (server, error)
}

// server is a running system.
type server interface {
	// load returns the client of the case.
	load(ctx context.Context) (clientload.Kind, error)

	// upgrade replaces the process and returns when the old one has ended. pause is how long there were no streams.
	upgrade(ctx context.Context) (pause time.Duration, err error)

	// pid is the process that serves.
	pid() int

	stop()
}

func newExperiment() *experiment {
	e := &experiment{systems: []system{ferry()}}
	for _, peer := range []func() (system, error){nginx, haproxy, envoyProxy} {
		s, err := peer()
		if err != nil {
			e.notes = append(e.notes, err.Error())
			continue
		}
		e.systems = append(e.systems, s)
	}
	return e
}

func (e *experiment) prepare(dir string) (err error) {
	e.dir = dir
	if e.web, err = clientload.NewWeb("web"); err != nil {
		return err
	}
	return ferrynode.Build(dir)
}

func (s *system) takes(name string) bool { return s.cases == nil || slices.Contains(s.cases, name) }

// The times of a measurement.
const (
	undisturbed = 700 * time.Millisecond
	before      = 200 * time.Millisecond // an upgrade
	after       = 200 * time.Millisecond
	patience    = time.Minute
)

func (e *experiment) measure(s system) func(string, time.Duration) (harness.Figures, error) {
	return func(name string, _ time.Duration) (harness.Figures, error) {
		if !s.takes(name) {
			return nil, nil
		}
		dir, err := os.MkdirTemp(e.dir, "run-")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		return e.trial(s, dir, name)
	}
}

// trial starts a server for each of its two halves, as a stream would drop messages that it had before.
func (e *experiment) trial(s system, dir, name string) (harness.Figures, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	quiet, err := e.half(ctx, s, filepath.Join(dir, "quiet"), name, func(server, *clientload.Load) error {
		time.Sleep(undisturbed)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var ended, pause time.Duration
	disturbed, err := e.half(ctx, s, filepath.Join(dir, "upgraded"), name, func(running server, l *clientload.Load) (err error) {
		time.Sleep(before)
		defer l.Leave()() // the publisher may be back before the receiver
		start := time.Now()
		if pause, err = running.upgrade(ctx); err != nil {
			return err
		}
		ended = time.Since(start)
		time.Sleep(after)
		return nil
	})
	if err != nil {
		return nil, err
	}
	f := harness.Figures{
		gap: max(ms(disturbed.Gap-quiet.Gap), 0), calm: ms(quiet.Gap), took: ms(ended),
		failures: float64(disturbed.Failures + disturbed.Lost), again: float64(disturbed.Again),
	}
	if pause > 0 {
		f[paused] = ms(pause)
	}
	return f, nil
}

func (e *experiment) half(ctx context.Context, s system, dir, name string, f func(server, *clientload.Load) error) (r clientload.Report, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return r, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w%s", err, outputOf(dir))
		}
	}()
	running, err := s.start(e, dir, name)
	if err != nil {
		return r, err
	}
	defer running.stop()
	return load(ctx, running, func(l *clientload.Load) error { return f(running, l) })
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// load lets one client send while f runs.
func load(ctx context.Context, s server, f func(*clientload.Load) error) (clientload.Report, error) {
	kind, err := s.load(ctx)
	if err != nil {
		return clientload.Report{}, err
	}
	kind.Clients, kind.Pause = 1, time.Millisecond
	l := clientload.New(kind)
	err = l.Start(ctx)
	if err == nil {
		err = f(l)
	}
	report := l.Stop()
	if err == nil && report.Requests == 0 {
		err = fmt.Errorf("no request succeeded: %s", &report)
	}
	return report, err
}

// checkProcesses upgrades each system once.
func (e *experiment) checkProcesses() error {
	for _, s := range e.systems {
		dir, err := os.MkdirTemp(e.dir, "check-")
		if err != nil {
			return err
		}
		if err := e.checkProcess(s, dir); err != nil {
			return fmt.Errorf("%s: %w%s", s.name, err, outputOf(dir))
		}
	}
	return nil
}

func (e *experiment) checkProcess(s system, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	running, err := s.start(e, dir, kept)
	if err != nil {
		return err
	}
	defer running.stop()
	responds := func() error {
		_, err := load(ctx, running, func(*clientload.Load) error {
			time.Sleep(before)
			return nil
		})
		return err
	}
	first := running.pid()
	if err := responds(); err != nil {
		return err
	}
	if _, err := running.upgrade(ctx); err != nil {
		return err
	}
	if next := running.pid(); next == first || !alive(next) || alive(first) {
		return fmt.Errorf("process %d was replaced by %d, of which %v and %v run", first, next, alive(first), alive(next))
	}
	return responds()
}

// outputOf returns what the processes of a directory have printed last.
func outputOf(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, outputFile))
	if err != nil || len(text) == 0 {
		return ""
	}
	return "\n" + string(text[max(0, len(text)-2000):])
}
