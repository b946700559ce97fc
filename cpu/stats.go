package cpu

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

// Stats are the counters of a Pool, and what it does now.
type Stats struct {
	Tokens  int // jobs that may run at once
	Running int // jobs that hold a token
	Queued  int // jobs that wait for a token, new ones and those that yielded
	Lent    int // jobs that run without a token, as it was lent

	Jobs   uint64 // started
	Busy   uint64 // refused with ErrBusy
	Panics uint64

	// WaitP50 and WaitP99 are quantiles of the time that new jobs waited for a token, over the last ten to twenty seconds.
	WaitP50, WaitP99 time.Duration

	// Unyielding lists the functions that did not checkpoint when they were asked to yield, the longest first.
	Unyielding []Unyielding

	// GC is the garbage collector's share, 0 to 1, of the CPU time this process used since it started. The collector uses a
	// quarter of GOMAXPROCS, so it takes more of the machine when that is larger than the number of cores.
	GC float64

	// Warning says why I/O is not isolated from the jobs, and what to do. It is empty if I/O is isolated.
	Warning string
}

// Stats returns a snapshot.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	p.waits.rotate(p.now())
	s := Stats{
		Tokens:     p.cfg.Tokens,
		Running:    len(p.running),
		Queued:     p.queue.len,
		Lent:       len(p.runningLent),
		Jobs:       p.jobs,
		Busy:       p.refused,
		Panics:     p.panics,
		WaitP50:    p.waits.quantile(0.50),
		WaitP99:    p.waits.quantile(0.99),
		Unyielding: p.unyielding(),
	}
	p.mu.Unlock()
	s.GC = gcShare()
	if n := runtime.GOMAXPROCS(0); n <= s.Tokens {
		s.Warning = fmt.Sprintf("cpu: GOMAXPROCS is %d for %d tokens, so that no processor stays free for I/O: "+
			"call cpu.TuneProcess in main, or set GOMAXPROCS to %d", n, s.Tokens, processors(s.Tokens))
	}
	return s
}

// gcShare returns Stats.GC, as of the last garbage collection.
func gcShare() float64 {
	samples := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/cpu/classes/idle:cpu-seconds"},
	}
	metrics.Read(samples)
	gc, total, idle := samples[0].Value.Float64(), samples[1].Value.Float64(), samples[2].Value.Float64()
	if total <= idle {
		return 0
	}
	return gc / (total - idle)
}
