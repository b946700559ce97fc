//go:build unix && !linux

package worker

import (
	"errors"
	"syscall"
)

const socketType = syscall.SOCK_STREAM

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit cannot wait here without giving up the process's id.
func awaitExit(int) bool { return false }

// lower gives the process its low nice value. That it is lower already is refused, and no error.
func lower(pid int, cfg *Config) error {
	nice := cfg.Nice
	switch {
	case cfg.Idle:
		nice = 19
	case nice < 0:
		return nil
	}
	err := syscall.Setpriority(syscall.PRIO_PROCESS, pid, nice)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
