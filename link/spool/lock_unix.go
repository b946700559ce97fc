//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package spool

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// lock takes the lock of a directory. It belongs to the open file, so it ends with the process.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
		}
	}
	if err == nil {
		return f, nil
	}
	defer func() { _ = f.Close() }()
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder, _ := os.ReadFile(path) // for the message only
		return nil, fmt.Errorf("%w: process %s holds %s", ErrLocked, strings.TrimSpace(string(holder)), path)
	}
	return nil, fmt.Errorf("spool: lock %s: %w", path, err)
}

func isDiskFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// syncDir returns when the names of the directory's files are on the disk.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
