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

// spawn starts cmd in a process group of its own, and returns one end of a socket pair. cmd inherits the other end.
// spawn does not create a session, because Linux compares nice values only within the autogroup of a session.
func spawn(cmd *exec.Cmd) (net.Conn, error) {
	near, far, err := pair()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	conn, err := net.FileConn(near)
	_ = near.Close() // FileConn has duplicated the descriptor
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = attributes()
	cmd.ExtraFiles = []*os.File{far} // becomes descriptor 3
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

// pair returns two connected sockets. A process that is started at the same time does not inherit them. Otherwise that
// process would keep the socket open after this process has ended.
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

// inherited returns the socket at a descriptor that spawn has passed on. Processes that this process starts do not
// inherit the socket.
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

// hangUp ends this side of the stream.
func hangUp(conn net.Conn) {
	if c, ok := conn.(*net.UnixConn); ok {
		_ = c.CloseWrite()
	}
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
