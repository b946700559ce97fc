//go:build linux || darwin

package file

import "syscall"

// freeBytes returns how much the file system of path can still store.
func freeBytes(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // Bsize has another type on darwin
}
