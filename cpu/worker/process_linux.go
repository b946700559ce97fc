package worker

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const socketType = syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC

// attributes makes the kernel kill the process when the thread that started it ends. That thread ends with this
// process.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit waits until pid has ended. It does not reap the process, so the id is not reused.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// setPriority sets the priority of all threads of the process. New threads inherit it.
func setPriority(pid int, cfg *Config) error {
	if cfg.Idle {
		return ignoreExited(setIdlePolicy(pid))
	}
	if cfg.Nice < 0 {
		return nil
	}
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		return ignoreExited(err)
	}
	if 20-raw >= cfg.Nice { // Linux's system call returns 20 - nice
		return nil
	}
	err = unix.Setpriority(unix.PRIO_PGRP, pid, cfg.Nice)
	if errors.Is(err, unix.EACCES) { // a process in the group already has a lower priority
		return nil
	}
	return ignoreExited(err)
}

// setIdlePolicy sets SCHED_IDLE for each thread. New threads inherit the policy. So setIdlePolicy lists the threads
// until it finds no new one.
func setIdlePolicy(pid int) error {
	set := make(map[int]bool)
	for {
		threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			return err
		}
		before := len(set)
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || set[tid] {
				continue
			}
			attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
			if err := ignoreExited(unix.SchedSetAttr(tid, &attr, 0)); err != nil {
				return err
			}
			set[tid] = true
		}
		if len(set) == before {
			return nil
		}
	}
}

// ignoreExited returns nil if err means that the process has ended, because reap reports that. It returns any other
// err.
func ignoreExited(err error) error {
	if errors.Is(err, unix.ESRCH) || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
