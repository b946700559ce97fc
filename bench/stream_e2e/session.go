package main

import (
	"fmt"
	"slices"
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/pubsub"
)

// The parts of a slice.
const (
	fullPart = 0.4 // at full speed
	loadPart = 0.2 // at each load
)

// session is a row while its three processes run. In each slice they carry messages at full speed, and then at each load.
type session struct {
	experiment *experiment
	row        row
	size       pubsub.Size
	run        *pubsub.Run
	relay      *session        // opened here, for its rate; nil if there was one
	full       []pubsub.Closed // a slice each
	rates      []float64       // at full speed: of the warm-up and of each slice
	open       [][]pubsub.Open // by load, a slice each
}

// open starts the processes of a row.
func (e *experiment) open(r row, size pubsub.Size) (*session, error) {
	run, err := e.start(r, size)
	if err != nil {
		return nil, err
	}
	s := &session{experiment: e, row: r, size: size, run: run, open: make([][]pubsub.Open, len(loads))}
	if r.name == r.relay {
		e.relays[r.name] = s
	}
	return s, nil
}

// Close ends the processes.
func (s *session) Close() {
	if s.experiment.relays[s.row.name] == s {
		delete(s.experiment.relays, s.row.name)
	}
	s.run.Close()
	if s.relay != nil {
		s.relay.Close()
	}
}

// Run measures a slice.
func (s *session) Run(d time.Duration) error {
	rate, err := s.rate(d)
	if err != nil {
		return err
	}
	full, err := s.run.Closed(max(50, int(rate*fullPart*d.Seconds())))
	if err != nil {
		return err
	}
	s.full, s.rates = append(s.full, full), append(s.rates, full.Rate)
	for i, l := range loads {
		if rate, err = s.loadRate(l, d); err != nil {
			return err
		}
		n := max(rate*loadPart*d.Seconds(), 300*d.Seconds(), 2) // enough for a p99 of all slices, also of a slow row
		o, err := s.run.Open(int(n), rate)
		if err != nil {
			return err
		}
		s.open[i] = append(s.open[i], o)
	}
	return nil
}

// rate returns the median rate at full speed so far, in messages a second. Before the first slice it warms the processes up.
func (s *session) rate(d time.Duration) (float64, error) {
	if len(s.rates) == 0 {
		warm, err := s.run.Closed(max(50, s.size.Messages(d)/8))
		if err != nil {
			return 0, err
		}
		s.rates = append(s.rates, warm.Rate)
	}
	return median(s.rates), nil
}

// loadRate returns the rate of a load, in messages a second.
func (s *session) loadRate(l load, d time.Duration) (float64, error) {
	of := s
	if l.relay {
		var err error
		if of, err = s.ofRelay(); err != nil {
			return 0, err
		}
	}
	rate, err := of.rate(d)
	return l.part * rate, err
}

// ofRelay returns the session of the relay that has the same transport. A comparison of two versions measures no relay: then ofRelay
// opens one.
func (s *session) ofRelay() (*session, error) {
	e := s.experiment
	if relay := e.relays[s.row.relay]; relay != nil {
		return relay, nil
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == s.row.relay })
	relay, err := e.open(rows[i], s.size)
	if err != nil {
		return nil, fmt.Errorf("for the rate of the relay: %w", err)
	}
	s.relay = relay
	return relay, nil
}

// Figures returns the medians of the slices, but the p99 is that of the messages of all slices.
func (s *session) Figures() (harness.Figures, error) {
	over := func(value func(pubsub.Closed) float64) float64 {
		all := make([]float64, len(s.full))
		for i, f := range s.full {
			all[i] = value(f)
		}
		return median(all)
	}
	figures := harness.Figures{
		perSecond:   over(func(f pubsub.Closed) float64 { return f.Rate }),
		allocated:   over(func(f pubsub.Closed) float64 { return f.Alloc.Sum() }),
		sourceAlloc: over(func(f pubsub.Closed) float64 { return f.Alloc.Source }),
		nodeAlloc:   over(func(f pubsub.Closed) float64 { return f.Alloc.Node }),
		functAlloc:  over(func(f pubsub.Closed) float64 { return f.Alloc.Function }),
		sourceCPU:   over(func(f pubsub.Closed) float64 { return f.CPU.Source }),
		nodeCPU:     over(func(f pubsub.Closed) float64 { return f.CPU.Node }),
		functCPU:    over(func(f pubsub.Closed) float64 { return f.CPU.Function }),
	}
	for i, l := range loads {
		var p50 []float64
		var pooled []time.Duration
		for _, o := range s.open[i] {
			p50, pooled = append(p50, o.All.P50), append(pooled, o.Sketch...)
		}
		slices.Sort(pooled)
		figures[l.p50()], figures[l.p99()] = median(p50), pubsub.Quantiles(pooled).P99
	}
	return figures, nil
}

// median returns the median of values, of which there is at least one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
