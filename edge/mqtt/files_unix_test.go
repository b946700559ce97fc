//go:build unix

package mqtt_test

import "syscall"

// openFiles returns how many files the process may open.
func openFiles() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 1024
	}
	return int(min(uint64(l.Cur), 1<<20)) //nolint:unconvert // on FreeBSD it is an int64
}
