//go:build linux || darwin

package nats

import (
	"errors"
	"syscall"
)

// freeBytes returns how much the file system of path can still store.
func freeBytes(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // Bsize has another type on darwin
}

// ignoreUnsupported drops the error of a file system that cannot sync directories.
func ignoreUnsupported(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
