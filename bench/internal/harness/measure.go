package harness

import (
	"runtime"
	"sync"
	"time"
)

// Op runs an operation n times. The loop is inside of Op, so that the measured time contains no call through a function value.
type Op func(n int)

// The names of the figures that Time and Parallel return.
const (
	NsPerOp       = "ns/op"          // wall time
	BytesPerOp    = "B/op"           // bytes allocated
	AllocsPerOp   = "allocs/op"      // number of allocations
	CPUPerOp      = "cpu ns/op"      // CPU time of the whole process, including the garbage collector
	ParallelPerOp = "parallel ns/op" // wall time divided by the number of operations on all cores
	Growth        = "growth x"       // throughput of all cores divided by the throughput of one core
)

// Time runs op for about budget on one goroutine.
func Time(op Op, budget time.Duration) Figures {
	n := calibrate(op, budget)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := processCPU(), time.Now()
	op(n)
	wall := time.Since(start)
	cpu = processCPU() - cpu
	runtime.ReadMemStats(&after)
	per := func(total float64) float64 { return total / float64(n) }
	return Figures{
		NsPerOp:     per(float64(wall.Nanoseconds())),
		CPUPerOp:    per(float64(cpu.Nanoseconds())),
		BytesPerOp:  perWhole(after.TotalAlloc-before.TotalAlloc, n),
		AllocsPerOp: perWhole(after.Mallocs-before.Mallocs, n),
	}
}

// Parallel runs op for about budget on each of GOMAXPROCS goroutines. It returns the wall time divided by the number of
// operations of all goroutines. Dividing Time's figure by this figure shows how well op scales over cores.
func Parallel(op Op, budget time.Duration) float64 {
	n := calibrate(op, budget)
	runtime.GC()
	procs := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	start := time.Now()
	for range procs {
		wg.Go(func() { op(n) })
	}
	wg.Wait()
	return float64(time.Since(start).Nanoseconds()) / float64(n*procs)
}

// calibrate returns the number of operations that run for about budget.
func calibrate(op Op, budget time.Duration) int {
	for n := 1; ; n *= 2 {
		start := time.Now()
		op(n)
		if took := time.Since(start); took >= budget/8 {
			return max(1, int(float64(n)*float64(budget)/float64(took)))
		}
	}
}

// perWhole divides and rounds down, as package testing does. So a single allocation by the runtime does not appear in the result.
func perWhole(total uint64, n int) float64 { return float64(total / uint64(n)) }
