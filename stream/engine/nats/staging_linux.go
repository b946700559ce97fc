package nats

import "syscall"

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
