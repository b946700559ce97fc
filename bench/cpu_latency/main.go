//go:build linux

// Cpu_latency measures the latency of requests that only wait, beside requests that compute on all cores, and how much
// computing throughput that latency costs.
package main

import (
	"time"

	"example.com/ferry/bench/internal/harness"
	"example.com/ferry/bench/internal/openloop"
)

func main() {
	openloop.Main()
	playRole()
	harness.Main(question())
}

// The figures. Times are of /delay1ms, if they do not say otherwise.
const (
	p99       = "p99 ms"
	p50       = "p50 ms"
	p999      = "p99.9 ms"
	inflation = "p99, times alone"
	work      = "work, times plain's"
	units     = "work, units/s"
	short50   = "p50 ms of 1 ms jobs"
	short99   = "p99 ms of 1 ms jobs"
	cores     = "cores used by the experiment"
	collector = "cores used by the collector"
	foreign   = harness.Foreign
	late99    = "p99 ms by which the generator was late"
	fifo      = "generator had SCHED_FIFO"

	doNs         = "ns of Do on an idle pool"
	doAllocs     = "allocations of Do"
	checkpointNs = "ns of Checkpoint"
)

func question() harness.Question {
	return newExperiment(seedStep).question()
}

func newExperiment(seedStep time.Duration) *experiment {
	return &experiment{seedStep: seedStep, base: map[string]harness.Figures{}, times: map[string]openloop.Times{}}
}

func (e *experiment) question() harness.Question {
	q := harness.Question{
		Name:   "cpu_latency",
		Title:  "Quick requests beside requests that compute, on a busy machine",
		Unit:   p99,
		Better: harness.Lower,
		About: "A server responds to /delay1ms after a millisecond, a thousand times a second at random intervals (Poisson), and as many jobs as the case says are in flight all the time. " +
			"Latency counts from when a request was due; one that was not answered in the end counts with its age. The generator is a process of its own, one thread in the class SCHED_FIFO where that is permitted. " +
			"Work is what all jobs did in the window, ended or not, by the server's own count of checksums of 256 KiB, or of 600 allocations of 56 bytes. p99 without it says nothing: a pool that lets jobs wait has the best. " +
			"A measurement is void where the generator's p99 lateness exceeds 0.5 ms or others used more than 0.15 of a core: it is repeated, and never counts as passed.",
		Figures: []string{p50, p999, inflation, work, short50, short99, units, cores, collector, foreign, late99, fifo, doNs, doAllocs, checkpointNs},
		Plot:    []string{checkpointing, allocating, foreignLoops, throughNode},
		Prepare: e.prepare,
		Checks: []harness.Check{
			{Name: "each row's server gives the right checksums, and counts what it did: no more, and no less", Run: e.checkResponses},
			{Name: "a node's function gives the right checksums, and no message comes back twice; again in each measurement", Run: e.checkNode},
		},
		Disturbed: disturbed,
		Charts:    e.charts,
		Goals:     goals(),
		Notes: []string{
			"Rows alone, plain, ferry, and cores+1 are examples/cpuserver in the first case; all others are a small server of this question's, with the same endpoints, that uses package cpu in the same way.",
			"Ten jobs of 10 to 20 thousand checksums each take 70 to 140 ms alone. Allocating jobs run with GOGC=800, and beside foreign loops with the default; worker processes with the same.",
			"The foreign loops are processes of their own at the same priority; they are part of their case and not of what others used.",
			"Cores used by the collector are the server's own: a worker process's are not among them.",
			"cpuworker was recorded on two quiet cores before this question existed, with the same method and I/O at 500 a second in the last two cases.",
			"alone has no jobs. Semaphore runs as many jobs as there are cores, each to its end.",
			"Where jobs never checkpoint, the long ones do not and the short ones do.",
			"In a node's function: `ferry run -c` with everything as it ships, and its function checksum declared light (plain, as many calls as jobs), heavy (ferry), or worker. Jobs are messages of 10 to 20 thousand checksums on ten tags. Latency is that of small messages published a thousand times a second, through the node and back to the publisher, without the millisecond of /delay1ms: alone is a fraction of a millisecond, so the same delay is many times as much. A node does not say what its jobs have done so far: work is that of the jobs that ended, over a window twice as long.",
		},
	}
	for _, l := range loads {
		q.Cases = append(q.Cases, l.name)
	}
	q.Cases = append(q.Cases, cost)
	for _, r := range rows {
		q.Contenders = append(q.Contenders, e.contender(r))
	}
	q.Contenders = append(q.Contenders, recorded...)
	return q
}

func goals() []harness.Goal {
	median := func(row, load, figure string) func(*harness.Result) float64 {
		return func(r *harness.Result) float64 { return r.Stat(row, load, figure).Median }
	}
	return []harness.Goal{
		harness.AtMost(1.5, checkpointing+": p99, times alone", median(ferryPool, checkpointing, inflation)),
		harness.AtLeast(0.97, checkpointing+": work, times plain's", median(ferryPool, checkpointing, work)),
		harness.AtMost(1.5, checkpointing+", cores+1 tokens: p99, times alone", median(onePool, checkpointing, inflation)),
		harness.AtLeast(0.97, checkpointing+", cores+1 tokens: work, times plain's", median(onePool, checkpointing, work)),
		harness.AtMost(2.5, allocating+": p99, times alone", median(ferryPool, allocating, inflation)),
		harness.AtLeast(0.97, allocating+": work, times plain's", median(ferryPool, allocating, work)),
		harness.AtMost(0.333, foreignLoops+": p99, times plain's", func(r *harness.Result) float64 { return r.Ratio(ferryPool, plain, foreignLoops, p99) }),
		harness.AtLeast(1, foreignLoops+": work, times plain's", median(ferryPool, foreignLoops, work)),
		harness.AtMost(5, shortAndLong+": p99 ms of the short ones", median(ferryPool, shortAndLong, short99)),
		harness.AtMost(10, neverYields+": p99 ms of the short ones", median(ferryPool, neverYields, short99)),
		harness.AtMost(6, neverYields+": p99 ms of I/O", median(ferryPool, neverYields, p99)),
		harness.AtLeast(0.97, neverYields+": work, times plain's", median(ferryPool, neverYields, work)),
		harness.AtMost(1.3, "worker process with SCHED_IDLE: p99, times alone", median(idleWorker, checkpointing, inflation)),
		harness.AtLeast(0.9, "worker process with SCHED_IDLE: work, times plain's", median(idleWorker, checkpointing, work)),
		harness.AtMost(1.5, throughNode+": p99, times alone", median(ferryPool, throughNode, inflation)),
		harness.AtLeast(0.97, throughNode+": work, times plain's", median(ferryPool, throughNode, work)),
		harness.AtMost(400, "Do on an idle pool, ns", median(ferryPool, cost, doNs)),
		harness.AtMost(1, "Do on an idle pool, allocations", median(ferryPool, cost, doAllocs)),
		harness.AtMost(1, "Checkpoint, ns", median(ferryPool, cost, checkpointNs)),
	}
}
