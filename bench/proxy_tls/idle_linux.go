package main

import (
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/proxytrial"
)

const (
	firstConns = 1000 // connections before the memory is read for the first time: reserves of a program count to them
	idleConns  = 5000
	settle     = time.Second // after the last request, for what a program releases later
)

// idleTrial measures the memory of idle connections in its first slice. It has no further slices.
type idleTrial struct {
	*experiment
	load    proxytrial.Load
	start   proxytrial.Starter
	figures harness.Figures
}

func (t *idleTrial) Run(time.Duration) error {
	if t.figures != nil {
		return nil
	}
	l := t.load
	l.Conns = min(l.Conns, t.conns)
	trial, err := proxytrial.Start(l, t.start, t.dir, t.files)
	if err != nil {
		return err
	}
	defer trial.Close()
	rest := min(settle, time.Duration(t.conns)*settle/idleConns)
	first, err := trial.IdleMemory(rest)
	if err != nil {
		return err
	}
	if err := trial.More(t.conns); err != nil {
		return err
	}
	all, err := trial.IdleMemory(rest)
	if err != nil {
		return err
	}
	f, err := trial.Figures()
	if err != nil {
		return err
	}
	t.figures = harness.Figures{
		idleBytes:            (all - first) / float64(t.conns),
		proxytrial.Anonymous: all / (1 << 20),
		proxytrial.Failures:  f[proxytrial.Failures],
	}
	return nil
}

func (t *idleTrial) Figures() (harness.Figures, error) { return t.figures, nil }

func (t *idleTrial) Close() {}
