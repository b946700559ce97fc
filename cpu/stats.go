package cpu

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

// Stats are the counters and the current state of a Pool.
type Stats struct {
	Tokens  int // most jobs that may run at a time
	Running int // jobs that hold a token
	Queued  int // jobs that wait for a token: new jobs, and jobs that yielded
	Lent    int // jobs that run without a token because it was lent

	Jobs   uint64 // jobs started
	Busy   uint64 // jobs refused with ErrBusy
	Panics uint64

	// WaitP50 and WaitP99 are the median and the 99th percentile of the time that new jobs waited for a token. They cover the
	// last ten to twenty seconds.
	WaitP50, WaitP99 time.Duration

	// Unyielding lists the functions that did not checkpoint when they were asked to yield, sorted by longest running time.
	Unyielding []Unyielding

	// GC is the garbage collector's share, 0 to 1, of the CPU time that this process has used. The collector uses a quarter of
	// GOMAXPROCS. So it uses more of the machine if GOMAXPROCS exceeds the number of cores.
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

// gcShare returns Stats.GC. The runtime updates the value at each garbage collection.
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
