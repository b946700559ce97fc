//go:build !linux

package log

import "os"

// syncData returns when the bytes of f are on the disk.
func syncData(f *os.File) error { return f.Sync() }
