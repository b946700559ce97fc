//go:build unix && !linux

package worker

import (
	"errors"
	"syscall"
)

const socketType = syscall.SOCK_STREAM

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit returns false: these systems cannot wait for an exit without releasing the process id.
func awaitExit(int) bool { return false }

// setPriority sets the nice value of the process. If the process already has a lower priority, the system refuses the
// change; that is no error.
func setPriority(pid int, cfg *Config) error {
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
