//go:build unix

package worker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
)

// spawn starts cmd in a process group of its own, and returns this side of a socket whose other one it inherits. A group
// rather than a session: Linux weighs nice values within a session's autogroup only.
func spawn(cmd *exec.Cmd) (net.Conn, error) {
	near, far, err := pair()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	conn, err := net.FileConn(near)
	_ = near.Close() // FileConn has a copy
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = attributes()
	cmd.ExtraFiles = []*os.File{far} // descriptor 3
	if cmd.Env == nil {
		cmd.Env = cmd.Environ()
	}
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], socketVariable+"=3")
	if err := cmd.Start(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// pair returns two connected sockets that no other process started meanwhile inherits: one that did would keep the end of
// this process from its children.
func pair() (near, far *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, socketType, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("worker: make a pair of sockets: %w", err)
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "worker"), os.NewFile(uintptr(fds[1]), "parent"), nil
}

// inherited returns the socket that spawn left at a descriptor. What this process starts does not inherit it.
func inherited(fd int) (net.Conn, error) {
	syscall.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), "parent")
	if f == nil {
		return nil, os.ErrInvalid
	}
	defer f.Close()
	return net.FileConn(f)
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// hangUp lets the other side read the end.
func hangUp(conn net.Conn) {
	if c, ok := conn.(*net.UnixConn); ok {
		_ = c.CloseWrite()
	}
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
