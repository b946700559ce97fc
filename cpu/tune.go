package cpu

import (
	"os"
	"runtime"
	"time"
)

// kernelSlice is the shortest slice that the kernel accepts. A thread that wakes up preempts one whose slice is over, so with
// short slices the threads that do I/O need not wait for the scheduler's tick.
const kernelSlice = 100 * time.Microsecond

// Tuning configures TuneProcess. The zero value is right for a program that has the machine, or its container, to itself.
type Tuning struct {
	// Tokens is that of the pool. Zero means Cores().
	Tokens int

	// KeepKernelSlices leaves the kernel's time slices as they are.
	KeepKernelSlices bool
}

// Tuned is the result of TuneProcess.
type Tuned struct {
	GOMAXPROCS int // as it is now

	// KernelSlices is true if all threads of the process, now and later, have time slices of 100 us.
	KernelSlices bool

	// Err says why they do not: an old kernel, another system, a sandbox. The process works without them.
	Err error
}

// TuneProcess prepares the whole process for pools. A binary that uses one calls it at the beginning of main. It raises
// GOMAXPROCS to twice the cores or the tokens, whichever is more, so that jobs never occupy all of Go's processors; it does not
// if GOMAXPROCS is larger already or the environment sets it. On Linux from 6.12 on it gives all threads time slices of 100 us,
// which needs no privilege and changes no priority.
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

// processors returns the GOMAXPROCS for a number of tokens.
func processors(tokens int) int { return max(tokens+2, 2*tokens, 2*Cores()) }
