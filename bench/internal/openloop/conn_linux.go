package openloop

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// conn is a connection that carries one request at a time.
type conn struct {
	fd     int
	stream *stream
	busy   bool
	due    time.Duration // when the request in flight was due
	in     []byte        // the part of the response that has arrived
}

func resolve(addr string) (unix.SockaddrInet4, error) {
	a, err := netip.ParseAddrPort(addr)
	if err != nil || !a.Addr().Is4() {
		return unix.SockaddrInet4{}, fmt.Errorf("openloop: %q: want an IPv4 address and a port", addr)
	}
	return unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, nil
}

// connect opens one more connection for a stream.
func (g *generator) connect(s *stream) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("openloop: socket: %w", err)
	}
	c := &conn{fd: fd, stream: s, in: make([]byte, 0, 4<<10)}
	for len(g.conns) <= fd {
		g.conns = append(g.conns, nil)
	}
	g.conns[fd] = c
	s.all, s.free = append(s.all, c), append(s.free, c)
	err = errors.Join(
		unix.Connect(fd, &g.target), // on loopback this does not wait: the kernel completes the handshake itself
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetNonblock(fd, true),
		unix.EpollCtl(g.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}),
	)
	if err != nil {
		return fmt.Errorf("openloop: connect to %s: %w", g.Addr, err)
	}
	return nil
}

// send sends a request on an idle connection. It opens a new connection if none is idle. due is when the request was due.
func (g *generator) send(s *stream, due time.Duration) {
	if len(s.free) == 0 {
		if g.err = g.connect(s); g.err != nil {
			return
		}
	}
	c := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	c.busy, c.due, c.in = true, due, c.in[:0]
	request := "GET " + s.path + " HTTP/1.1\r\nHost: " + g.Addr + "\r\n\r\n"
	if n, err := unix.Write(c.fd, []byte(request)); err != nil || n < len(request) {
		g.err = fmt.Errorf("openloop: ask for %s: %d of %d bytes written: %w", s.path, n, len(request), err)
	}
}

// wait handles responses until the given time.
func (g *generator) wait(until time.Duration) {
	var events [256]unix.EpollEvent
	timeout := unix.NsecToTimespec(max(0, until-g.now()).Nanoseconds())
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(g.poll), uintptr(unsafe.Pointer(&events)),
		uintptr(len(events)), uintptr(unsafe.Pointer(&timeout)), 0, 0)
	if errno != 0 {
		if errno != unix.EINTR {
			g.err = fmt.Errorf("openloop: epoll_pwait2, Linux 5.11: %w", errno)
		}
		return
	}
	for _, e := range events[:n] {
		if err := g.read(g.conns[e.Fd]); err != nil {
			g.err = fmt.Errorf("openloop: response to %s: %w", g.conns[e.Fd].stream.path, err)
			return
		}
	}
}

// read reads the next part of a response.
func (g *generator) read(c *conn) error {
	n, err := unix.Read(c.fd, c.in[len(c.in):cap(c.in)])
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return err
	case n == 0:
		return errClosed
	}
	c.in = c.in[:len(c.in)+n]
	body, whole, err := parse(c.in)
	if err != nil {
		return err
	}
	if whole {
		g.receive(c, string(body))
	} else if len(c.in) == cap(c.in) {
		return fmt.Errorf("more than %d bytes", cap(c.in))
	}
	return nil
}

var errClosed = errors.New("the server closed the connection")

// parse returns the body of a response if the response is complete. The response must have status 200 and a Content-Length.
func parse(in []byte) (body []byte, whole bool, err error) {
	head, rest, found := bytes.Cut(in, []byte("\r\n\r\n"))
	if !found {
		return nil, false, nil
	}
	status, fields, _ := strings.Cut(string(head), "\r\n")
	if !strings.HasPrefix(status, "HTTP/1.1 200 ") {
		return nil, false, fmt.Errorf("status %q", status)
	}
	for field := range strings.SplitSeq(fields, "\r\n") {
		name, value, _ := strings.Cut(field, ":")
		if !strings.EqualFold(name, "Content-Length") {
			continue
		}
		length, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || length < 0 {
			return nil, false, fmt.Errorf("Content-Length %q", value)
		}
		if len(rest) > length {
			return nil, false, fmt.Errorf("%d bytes more than it says", len(rest)-length)
		}
		return rest, len(rest) == length, nil
	}
	return nil, false, errors.New("no Content-Length")
}
