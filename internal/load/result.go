package load

import (
	"context"
	"fmt"
	"time"
)

// Result is what a run has measured. Requests of the warm-up are not in it.
type Result struct {
	Config Config // with the defaults filled in

	Took        time.Duration // from the end of the warm-up until the last response
	Interrupted bool          // the context of Run ended before the load was complete

	Sent       int // requests that were begun
	Received   int // responses, whatever they say
	OK         int // responses as expected
	Failed     int // failed requests, with and without a response, and requests that could not be sent
	Unfinished int // requests that were interrupted, or that waited for a worker when Config.Drain had passed

	Failures []FailureCount // the most frequent kind first
	Examples []string       // the text of the first failures

	Latency *Histogram // of complete and failed requests: from when a request was due (open loop) or sent (closed loop)
	Late    *Histogram // the lateness of the generator in an open loop: from when a request was due until it was sent to an idle worker
	Void    string     // why the figures say nothing about the server; empty if they are valid
}

// FailureCount is how often a kind of failure occurred.
type FailureCount struct {
	Kind    string `json:"kind"`
	Outcome string `json:"outcome,omitempty"` // as in the metrics of the proxy; empty if it is not known
	Count   int    `json:"count"`
}

// String returns the kind, and the outcome if it is known.
func (f FailureCount) String() string {
	if f.Outcome == "" {
		return f.Kind
	}
	return f.Kind + " (" + f.Outcome + ")"
}

// Throughput is the number of OK responses per second.
func (r *Result) Throughput() float64 {
	if r.Took <= 0 {
		return 0
	}
	return float64(r.OK) / r.Took.Seconds()
}

// result summarizes the run.
func (l *Load) result(ctx context.Context, from time.Duration) *Result {
	r := &Result{
		Config:      *l.cfg,
		Interrupted: ctx.Err() != nil,
		Sent:        int(l.counters.sent.Load()),
		Received:    int(l.counters.received.Load()),
		OK:          int(l.counters.ok.Load()),
		Failed:      int(l.counters.failed.Load()),
		Unfinished:  int(l.counters.unfinished.Load()),
		Failures:    l.failures.list(),
		Examples:    l.failures.examples,
		Latency:     NewHistogram(),
		Late:        NewHistogram(),
	}
	for _, s := range l.shards {
		r.Latency.Merge(s.latency)
		r.Late.Merge(s.late)
		r.Took = max(r.Took, s.last-from)
	}
	late := r.Late.Quantile(0.99)
	switch {
	case r.Latency.Count() == 0:
		r.Void = "no request was complete"
	case l.cfg.Rate > 0 && late > l.cfg.MaxLate:
		r.Void = fmt.Sprintf("the generator was late: the 99th percentile of its lateness is %v, above the limit of %v", round(late), l.cfg.MaxLate)
	case !r.Interrupted && r.Unfinished > 0:
		r.Void = fmt.Sprintf("%d requests were not complete %v after the end: their latency is missing", r.Unfinished, l.cfg.Drain)
	}
	return r
}

// Progress is how far a run has come.
type Progress struct {
	Elapsed  time.Duration // since the first request, the warm-up included; 0 while the workers connect
	WarmUp   bool
	Sent     int // measured requests
	Failed   int
	Fraction float64 // of the run, between 0 and 1
}

// Progress returns how far the run has come.
func (l *Load) Progress() Progress {
	begun := time.Duration(l.begun.Load())
	if begun == 0 {
		return Progress{}
	}
	p := Progress{Elapsed: l.clock.now() - begun, Sent: int(l.counters.sent.Load()), Failed: int(l.counters.failed.Load())}
	p.WarmUp = p.Elapsed < l.cfg.WarmUp
	if l.cfg.Duration > 0 {
		p.Fraction = p.Elapsed.Seconds() / (l.cfg.WarmUp + l.cfg.Duration).Seconds()
	}
	if l.cfg.Requests > 0 {
		p.Fraction = max(p.Fraction, float64(p.Sent)/float64(l.cfg.Requests))
	}
	p.Fraction = min(p.Fraction, 1)
	return p
}
