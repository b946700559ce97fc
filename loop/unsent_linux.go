package loop

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawUnsent is how many bytes of a socket's the peer has not acknowledged. A socket that cannot say gives 0.
func rawUnsent(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	if err != nil {
		return 0
	}
	return n
}

func unsent(conn net.Conn) (n int) {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return 0
	}
	if rc, err := raw.SyscallConn(); err == nil {
		_ = rc.Control(func(fd uintptr) { n = rawUnsent(int(fd)) })
	}
	return n
}
