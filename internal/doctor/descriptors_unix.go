//go:build unix

package doctor

import (
	"fmt"
	"syscall"
)

// descriptorLimit returns RLIMIT_NOFILE. Go raises the soft limit to the hard one when a process starts.
func descriptorLimit() (uint64, error) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0, fmt.Errorf("getrlimit: %w", err)
	}
	return uint64(r.Cur), nil //nolint:unconvert // signed on some systems
}
