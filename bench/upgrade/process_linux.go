package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// outputFile has what the processes of a system print.
const outputFile = "output"

// group is the processes of a system, in a process group of their own.
type group struct {
	leader *exec.Cmd
	output *os.File
}

// launch starts a process. With other processes of a group, it becomes one of them.
func launch(dir string, argv []string, of *group) (*group, *exec.Cmd, error) {
	output, err := os.OpenFile(filepath.Join(dir, outputFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if of != nil {
		cmd.SysProcAttr.Pgid = of.leader.Process.Pid
	}
	if err := cmd.Start(); err != nil {
		_ = output.Close()
		return nil, nil, err
	}
	go func() { _ = cmd.Wait() }() // so that it does not stay as a zombie
	if of != nil {
		_ = output.Close()
		return of, cmd, nil
	}
	return &group{cmd, output}, cmd, nil
}

// stop ends all processes of the group.
func (g *group) stop() {
	_ = syscall.Kill(-g.leader.Process.Pid, syscall.SIGKILL)
	_ = g.output.Close()
}

// alive reports whether a process runs. A zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// children returns the processes that a process has started and that run.
func children(parent int) (all []int) {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, each := range entries {
		stat, err := os.ReadFile(filepath.Join(each, "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if err == nil && len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(each))
			all = append(all, pid)
		}
	}
	return all
}

// until waits until is returns true.
func until(ctx context.Context, what string, is func() bool) error {
	for !is() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// awaitPort waits until something accepts connections.
func awaitPort(ctx context.Context, addr string) error {
	return until(ctx, "nothing listens at "+addr, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}
