package cpu

import (
	"os"
	"runtime"
	"time"
)

// kernelSlice is the shortest time slice that the kernel accepts. A thread that wakes up preempts a thread whose slice is
// over. So with short slices the threads that do I/O need not wait for the scheduler's tick.
const kernelSlice = 100 * time.Microsecond

// Tuning configures TuneProcess. The zero value suits a program that does not share its machine or container.
type Tuning struct {
	// Tokens is Config.Tokens of the pool. Zero means Cores().
	Tokens int

	// KeepKernelSlices leaves the kernel's time slices unchanged.
	KeepKernelSlices bool
}

// Tuned is the result of TuneProcess.
type Tuned struct {
	GOMAXPROCS int // current value of GOMAXPROCS

	// KernelSlices is true if all threads of the process, present and future, have time slices of 100 us.
	KernelSlices bool

	// Err says why KernelSlices is false: an old kernel, another system, or a sandbox. The process works without these slices.
	Err error
}

// TuneProcess prepares the whole process for pools. A binary with a pool calls it at the beginning of main. It raises
// GOMAXPROCS to twice the cores or twice the tokens, whichever is more. So jobs never occupy all of Go's processors. It leaves
// GOMAXPROCS unchanged if the value is already larger or the environment sets it. On Linux 6.12 and later it gives all threads
// time slices of 100 us, which needs no privilege and changes no priority.
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
		shortSlices.Store(done.KernelSlices)
	}
	return done
}

// ResetKernelSlices gives all threads the kernel's default time slices. A process inherits slices from the process that has started it: a
// program that TuneProcess has tuned, and that starts itself again, calls it if the new process shall not be tuned. It returns an error where
// TuneProcess would.
func ResetKernelSlices() error {
	shortSlices.Store(false)
	return setSlices(0)
}

// processors returns the GOMAXPROCS for a number of tokens.
func processors(tokens int) int { return max(tokens+2, 2*tokens, 2*Cores()) }
