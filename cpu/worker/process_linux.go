package worker

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const socketType = syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC

// attributes has the process killed when the thread that started it ends, which is with this process.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit waits until pid has ended and leaves it to be waited for, so that its id stays its own.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// lower gives all threads of the process their low priority; those they start inherit it.
func lower(pid int, cfg *Config) error {
	if cfg.Idle {
		return gone(idle(pid))
	}
	if cfg.Nice < 0 {
		return nil
	}
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		return gone(err)
	}
	if 20-raw >= cfg.Nice { // Linux's system call returns 20 - nice
		return nil
	}
	err = unix.Setpriority(unix.PRIO_PGRP, pid, cfg.Nice)
	if errors.Is(err, unix.EACCES) { // what it started is lower already
		return nil
	}
	return gone(err)
}

// idle sets each thread, until it finds none that it has not set: those started since come from one that was.
func idle(pid int) error {
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
			if err := gone(unix.SchedSetAttr(tid, &attr, 0)); err != nil {
				return err
			}
			set[tid] = true
		}
		if len(set) == before {
			return nil
		}
	}
}

// gone takes it for no error that the process has ended: how is told elsewhere.
func gone(err error) error {
	if errors.Is(err, unix.ESRCH) || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
