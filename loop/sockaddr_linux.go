package loop

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// sockaddr converts an address to the kernel's form.
func sockaddr(a Addr) (family int, sa unix.Sockaddr) {
	if a.Unix != "" {
		return unix.AF_UNIX, &unix.SockaddrUnix{Name: a.Unix}
	}
	ip, port := a.TCP.Addr().Unmap(), int(a.TCP.Port())
	if ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Addr: ip.As4(), Port: port}
	}
	in6 := &unix.SockaddrInet6{Addr: ip.As16(), Port: port}
	if zone := ip.Zone(); zone != "" {
		if ifi, err := net.InterfaceByName(zone); err == nil {
			in6.ZoneId = uint32(ifi.Index)
		} else if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
			in6.ZoneId = uint32(n)
		}
	}
	return unix.AF_INET6, in6
}

// netAddr converts an address of the kernel to the form of package net.
func netAddr(sa unix.Sockaddr) net.Addr {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)))
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(sa.Addr).Unmap()
		if sa.ZoneId != 0 {
			ip = ip.WithZone(strconv.FormatUint(uint64(sa.ZoneId), 10))
		}
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, uint16(sa.Port)))
	case *unix.SockaddrUnix:
		return &net.UnixAddr{Name: sa.Name, Net: "unix"}
	}
	return nil
}

// probeUnshared returns an error if a TCP address that several sockets will share is already in use. It tests that by binding
// the address without sharing.
func probeUnshared(a Addr) error {
	family, sa := sockaddr(a)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	return os.NewSyscallError("bind", unix.Bind(fd, sa))
}

const sharesPorts = true // each loop has a listening socket of its own

// bindTCP binds a socket to a TCP address and does not let it listen yet. Other sockets of this process may share the port: the kernel
// spreads connections over those that are bound to the same address.
func bindTCP(at Addr, _ bool) (net.Listener, error) {
	family, sa := sockaddr(at)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	f := os.NewFile(uintptr(fd), "tcp")
	defer f.Close()
	for _, option := range []int{unix.SO_REUSEADDR, unix.SO_REUSEPORT} {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 1); err != nil {
			return nil, os.NewSyscallError("setsockopt", err)
		}
	}
	if family == unix.AF_INET6 && at.TCP.Addr().IsUnspecified() {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0) // clients of IPv4, too, as package net does
	}
	if err := unix.Bind(fd, sa); err != nil {
		return nil, os.NewSyscallError("bind", err)
	}
	return net.FileListener(f)
}

// startListening lets clients connect to a bound socket. The kernel bounds how many wait by its somaxconn.
func startListening(nl net.Listener) error {
	sc, ok := nl.(syscall.Conn)
	if !ok {
		return fmt.Errorf("a %T has no descriptor", nl)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	var listenErr error
	if err := raw.Control(func(fd uintptr) { listenErr = unix.Listen(int(fd), math.MaxUint16) }); err != nil {
		return err
	}
	return os.NewSyscallError("listen", listenErr)
}
