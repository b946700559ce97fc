package cpu

import (
	"os"
	"runtime"
	"time"
)

// kernelSlice is the shortest the kernel takes. A thread whose slice is over gives way to one that wakes up, and a slice that
// is no shorter than other threads' keeps those that answer I/O from waiting for the scheduler's tick.
const kernelSlice = 100 * time.Microsecond

// Tuning says what TuneProcess may do. The zero value is right for a program that has the machine, or its container, to itself.
type Tuning struct {
	// Tokens is that of the pool. Zero means Cores().
	Tokens int

	// KeepKernelSlices leaves the kernel's time slices as they are.
	KeepKernelSlices bool
}

// Tuned says what TuneProcess did.
type Tuned struct {
	GOMAXPROCS int // as it is now

	// KernelSlices says that all threads of the process, now and later, have time slices of 100 us.
	KernelSlices bool

	// Err says why they have not: an old kernel, another system, a sandbox. The process works without.
	Err error
}

// TuneProcess prepares the whole process for pools; a binary that uses one calls it first thing in main. It raises GOMAXPROCS
// to twice the cores, or the tokens, so that jobs never occupy all of Go's processors, unless it is larger already or the environment sets
// it; and on Linux from 6.12 on it gives all threads time slices of 100 us, which needs no privilege and
// changes no priority.
func TuneProcess(t Tuning) Tuned {
	tokens := t.Tokens
	if tokens <= 0 {
		tokens = Cores()
	}
	if want := processors(tokens); os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
	done := Tuned{GOMAXPROCS: runtime.GOMAXPROCS(0)}
	if !t.KeepKernelSlices {
		done.Err = setSlices(kernelSlice)
		done.KernelSlices = done.Err == nil
	}
	return done
}

// processors is the GOMAXPROCS that so many tokens ask for.
func processors(tokens int) int { return max(tokens+2, 2*tokens, 2*Cores()) }
