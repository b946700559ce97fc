//go:build unix

package harness

import (
	"syscall"
	"time"
)

// processCPU returns the CPU time, user plus system, that this process has used so far.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
