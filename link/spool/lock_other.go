//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package spool

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// lock fails: without a lock two processes could write to one spool.
func lock(string) (*os.File, error) {
	return nil, fmt.Errorf("spool: no lock of files on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func isDiskFull(error) bool { return false }

func syncDir(string) error { return nil }
