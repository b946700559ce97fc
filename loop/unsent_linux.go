package loop

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawUnsent returns how many bytes of a socket the peer has not acknowledged, or 0 if the kernel does not report that.
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
