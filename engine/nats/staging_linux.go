package nats

import (
	"os"
	"syscall"
)

// memoryDir returns a directory that is kept in memory until the machine stops, or "".
func memoryDir() string {
	const (
		dir   = "/dev/shm"
		tmpfs = 0x01021994 // statfs(2), TMPFS_MAGIC
	)
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || int64(s.Type) != tmpfs { //nolint:unconvert // Type has another type on 32 bits
		return ""
	}
	return dir
}

// ownDir reports whether path is a directory of this user, into which no other one can write. Each user can write to memoryDir.
func ownDir(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
