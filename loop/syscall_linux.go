package loop

import (
	"encoding/binary"
	"io"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below never block, so they use RawSyscall, which bypasses Go's scheduler. That saves a microsecond or more per
// message. No other file of this package has unsafe code.

const maxIovecs = 64 // buffers in one writev; the kernel's limit is 1024

// rawRead receives from a socket. recvfrom(2) takes 0.1 us less than read(2), which is for files too. It returns io.EOF at the end of the
// stream, and ErrAgain if there is nothing to read now.
func rawRead(fd int32, p []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			if n == 0 {
				return 0, io.EOF
			}
			return int(n), nil
		case unix.EAGAIN:
			return 0, ErrAgain
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// rawWrite sends the first chunks of queue to a socket, most often with sendto(2), which raises no SIGPIPE. The queue must not be empty.
func rawWrite(fd int32, queue *chunk, vec *[maxIovecs]unix.Iovec) (int, error) {
	count := 0
	for c := queue; c != nil && count < maxIovecs; c = c.next {
		vec[count].Base = &c.b[c.off]
		vec[count].SetLen(len(c.b) - c.off)
		count++
	}
	for {
		var n uintptr
		var errno unix.Errno
		if count == 1 {
			n, _, errno = unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(vec[0].Base)), uintptr(vec[0].Len), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		} else {
			n, _, errno = unix.RawSyscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(vec)), uintptr(count))
		}
		switch errno {
		case 0:
			return int(n), nil
		case unix.EAGAIN:
			return 0, ErrAgain
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// rawPeek reports whether a socket is open and has nothing to read.
func rawPeek(fd int32) bool {
	var b byte
	_, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b)), 1, unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
	return errno == unix.EAGAIN
}

// rawSplice moves up to n bytes between a socket and a pipe. It returns 0 at the end of the socket's stream.
func rawSplice(from, to, n int) (int, error) {
	for {
		k, _, errno := unix.RawSyscall6(unix.SYS_SPLICE, uintptr(from), 0, uintptr(to), 0, uintptr(n), unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
		switch errno {
		case 0:
			return int(k), nil
		case unix.EAGAIN:
			return 0, ErrAgain
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// rawAccept returns a nonblocking descriptor that child processes do not inherit, and stores the peer's address.
func rawAccept(listener int32, from *unix.RawSockaddrAny) (int32, error) {
	for {
		size := uint32(unsafe.Sizeof(*from))
		fd, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(listener), uintptr(unsafe.Pointer(from)), uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		switch errno {
		case 0:
			return int32(fd), nil
		case unix.EAGAIN:
			return 0, ErrAgain
		case unix.EINTR, unix.ECONNABORTED, unix.EPROTO, unix.EPERM:
			// The client has gone, or a firewall refused it: accept(2). The next client may succeed.
		default:
			return 0, errno
		}
	}
}

// sockaddrPort returns the IP address and the port in a socket address, or the zero AddrPort if it has none.
func sockaddrPort(a *unix.RawSockaddrAny) netip.AddrPort {
	switch a.Addr.Family {
	case unix.AF_INET:
		in := (*unix.RawSockaddrInet4)(unsafe.Pointer(a))
		return netip.AddrPortFrom(netip.AddrFrom4(in.Addr), networkOrder(&in.Port))
	case unix.AF_INET6:
		in := (*unix.RawSockaddrInet6)(unsafe.Pointer(a))
		return netip.AddrPortFrom(netip.AddrFrom16(in.Addr).Unmap(), networkOrder(&in.Port))
	}
	return netip.AddrPort{}
}

// networkOrder returns a port as the kernel stores it: its high byte comes first.
func networkOrder(port *uint16) uint16 {
	return binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(port))[:])
}

// rawEpollWait stores the pending events and returns their number. It does not wait.
func rawEpollWait(epfd int, events []unix.EpollEvent) (int, error) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
