//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package filelock

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// take fails: without a lock two processes could write to the same files.
func take(string) (*os.File, error) {
	return nil, fmt.Errorf("no lock of files on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
