//go:build unix

package handover

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// duplicate returns another descriptor of the same socket. It does not use File.Fd, which may make the socket blocking, in all processes.
func duplicate(f *os.File) (*os.File, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var dupErr error
	if err := raw.Control(func(of uintptr) { fd, dupErr = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if dupErr != nil {
		return nil, dupErr
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// inheritedFile returns a descriptor that this process was started with. The processes that it starts do not get it.
func inheritedFile(fd int, what string) (*os.File, error) {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("it is not open: %w", err)
	}
	return os.NewFile(uintptr(fd), what), nil
}

// pair returns the two ends of a connection.
func pair() (near, far *os.File, err error) {
	syscall.ForkLock.RLock() // no process is started that gets both ends
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "successor"), os.NewFile(uintptr(fds[1]), "predecessor"), nil
}
