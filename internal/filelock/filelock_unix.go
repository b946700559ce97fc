//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func take(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
		}
		if err == nil || isDiskFull(err) { // the number is for the message only
			return f, nil
		}
	}
	defer func() { _ = f.Close() }()
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder, _ := os.ReadFile(path) // for the message only
		return nil, fmt.Errorf("%w: process %s holds %s", ErrHeld, strings.TrimSpace(string(holder)), path)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

func isDiskFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
