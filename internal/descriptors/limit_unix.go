//go:build unix

package descriptors

import (
	"errors"
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

func current() int64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return math.MaxInt64
	}
	return int64(min(uint64(r.Cur), math.MaxInt64)) //nolint:unconvert,gosec // Cur is signed on FreeBSD
}

// lowestFree returns the number that the next descriptor gets. ok is false if none is left.
func lowestFree() (fd int, ok bool) {
	const standard = 2 // Go's runtime opens 0, 1 and 2 if they are closed when the process starts
	fd, err := unix.FcntlInt(standard, unix.F_DUPFD_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EBADF):
		return standard, true // the program has closed it since
	case err != nil:
		return 0, false
	}
	_ = unix.Close(fd)
	return fd, true
}
