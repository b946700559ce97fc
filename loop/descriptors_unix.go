//go:build unix

package loop

import (
	"math"
	"syscall"
)

// descriptorLimit returns how many descriptors the process may open (RLIMIT_NOFILE, soft limit), or 0 if that is not known.
// The Go runtime raises the soft limit to the hard limit when a program starts.
func descriptorLimit() int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0
	}
	return int(min(r.Cur, math.MaxInt32))
}
