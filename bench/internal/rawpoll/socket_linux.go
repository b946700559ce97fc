package rawpoll

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrAgain means that there is nothing to read or to accept, or no room to write.
var ErrAgain error = unix.EAGAIN

// Listen returns a descriptor that accepts connections at an IPv4 address. It sets SO_REUSEPORT: several may listen there,
// and the kernel spreads connections over them.
func Listen(at netip.AddrPort) (int, error) {
	fd, err := socket()
	if err != nil {
		return -1, err
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1),
		unix.Bind(fd, address(at)),
		unix.Listen(fd, 1<<16), // the kernel takes somaxconn, if that is less
		unix.SetNonblock(fd, true),
	)
	if err != nil {
		Close(fd)
		return -1, fmt.Errorf("rawpoll: listen on %s: %w", at, err)
	}
	return fd, nil
}

// Dial connects to an IPv4 address, and waits until the connection is established. On loopback the wait is short, because the
// kernel completes the handshake itself. The other address, unless it is zero, is the local address.
func Dial(from netip.Addr, to netip.AddrPort) (int, error) {
	fd, err := socket()
	if err != nil {
		return -1, err
	}
	if from.IsValid() {
		err = errors.Join(
			unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1), // a port of each pair of addresses
			unix.Bind(fd, address(netip.AddrPortFrom(from, 0))),
		)
	}
	if err == nil {
		err = unix.Connect(fd, address(to))
	}
	if err = errors.Join(err, noDelay(fd), unix.SetNonblock(fd, true)); err != nil {
		Close(fd)
		return -1, fmt.Errorf("rawpoll: connect to %s: %w", to, err)
	}
	return fd, nil
}

// Accept returns a connection, or ErrAgain.
func Accept(listener int) (int, error) {
	fd, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(listener), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), noDelay(int(fd))
}

// Read returns io.EOF at the end of the stream, and ErrAgain if no data has arrived.
func Read(fd int, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	switch {
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, io.EOF
	}
	return int(n), nil
}

// WriteSome writes the part of p that the socket has room for. It returns ErrAgain if there is no room.
func WriteSome(fd int, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// Write writes all of p, or returns an error: a connection with one or two requests in flight never fills its socket.
func Write(fd int, p []byte) error {
	n, err := WriteSome(fd, p)
	if err != nil {
		return err
	}
	if n < len(p) {
		return fmt.Errorf("rawpoll: %d of %d bytes written: %w", n, len(p), ErrAgain)
	}
	return nil
}

// Close closes a descriptor.
func Close(fd int) { _ = unix.Close(fd) }

func socket() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("rawpoll: socket: %w", err)
	}
	return fd, nil
}

func noDelay(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) }

func address(a netip.AddrPort) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
}
