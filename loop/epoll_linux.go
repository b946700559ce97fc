package loop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ferry/internal/descriptors"
)

// epoll implements sockets with Linux's edge-triggered epoll. A socket is registered once, and each change is one event. So
// pausing and resuming need no system call.
type epoll struct {
	fd       int
	wakeFD   int                // an eventfd; each write to it is an event, and it is never read
	file     *os.File           // wraps fd, registered with the runtime's poller
	rawConn  syscall.RawConn    // rawConn of file
	deadline time.Time          // read deadline of file; zero if none is set
	poll     func(uintptr) bool // sets pollN and pollErr; stored in a field because a new closure for each sleep would be allocated
	pollN    int                // number of events in raw
	pollErr  error
	woken    bool // the loop has slept, and lookOut was not called since
	lookouts int  // calls of lookOut
	raw      [eventBatch]unix.EpollEvent
	iovecs   [maxIovecs]unix.Iovec
	pipe     pipe
	config   Config
	short    bool // the connection accepted last has a descriptor of the reserve
}

var (
	_ sockets = (*epoll)(nil)
	_ splicer = (*epoll)(nil)
)

func newSockets(cfg Config) (sockets, error) {
	if cfg.Portable {
		return newGoroutineSockets(cfg), nil
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("loop: epoll_create1: %w", err)
	}
	reserveDescriptors(fd)
	wakeFD, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("loop: eventfd: %w", err)
	}
	e := &epoll{fd: fd, wakeFD: wakeFD, config: cfg}
	if err := e.registerWithRuntime(); err != nil {
		e.release()
		return nil, fmt.Errorf("loop: %w", err)
	}
	if err := e.control(unix.EPOLL_CTL_ADD, int32(wakeFD), 0, unix.EPOLLIN); err != nil {
		e.release()
		return nil, fmt.Errorf("loop: epoll_ctl: %w", err)
	}
	return e, nil
}

func (e *epoll) control(op int, fd int32, gen uint32, events uint32) error {
	return unix.EpollCtl(e.fd, op, int(fd), &unix.EpollEvent{Events: events | unix.EPOLLET, Fd: fd, Pad: int32(gen)})
}

func (e *epoll) wait(events []event, timeout time.Duration) (int, error) {
	var n int
	var err error
	if timeout == 0 {
		n, err = rawEpollWait(e.fd, e.raw[:])
	} else {
		n, err = e.sleep(timeout)
		e.woken = true
	}
	if err != nil {
		return 0, err
	}
	// With a few events the loop sleeps again at once.
	if e.woken && (n > 0 && timeout == 0 || n >= busyEvents) {
		e.lookOut()
	}
	for i, ev := range e.raw[:n] {
		var r ready
		if ev.Events&unix.EPOLLIN != 0 {
			r |= readyRead
		}
		if ev.Events&unix.EPOLLOUT != 0 {
			r |= readyWrite
		}
		if ev.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
			r |= readyEnd
		}
		events[i] = event{ev.Fd, uint32(ev.Pad), r}
	}
	return n, nil
}

// busyEvents is a number of events at which a loop counts as busy.
const busyEvents = 8

// registerWithRuntime makes the runtime's poller watch the epoll descriptor. That descriptor is ready when one of its sockets
// is.
func (e *epoll) registerWithRuntime() error {
	if err := unix.SetNonblock(e.fd, true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	e.file = os.NewFile(uintptr(e.fd), "epoll")
	e.poll = func(uintptr) bool {
		e.pollN, e.pollErr = rawEpollWait(e.fd, e.raw[:])
		return e.pollN > 0 || e.pollErr != nil
	}
	var err error
	e.rawConn, err = e.file.SyscallConn()
	return err
}

// sleep waits for events. The goroutine parks in the runtime's poller and does not block in a system call of its own. An idle
// scheduler waits in the same poller, so a wake-up needs no change of threads.
func (e *epoll) sleep(timeout time.Duration) (n int, err error) {
	if timeout > 0 {
		// An earlier deadline may stay set: the loop wakes up, checks its timers and sleeps again.
		if until := time.Now().Add(timeout); e.deadline.IsZero() || until.Before(e.deadline) {
			if err := e.file.SetReadDeadline(until); err != nil {
				return 0, err
			}
			e.deadline = until
		}
	}
	e.pollN, e.pollErr = 0, nil
	err = e.rawConn.Read(e.poll)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		e.deadline = time.Time{}
		return 0, e.file.SetReadDeadline(e.deadline)
	}
	return e.pollN, errors.Join(err, e.pollErr)
}

// lookOut makes another thread wait in the runtime's poller. The thread that woke this loop waited there, and now runs this loop. The
// runtime starts another one only when it has a goroutine to run. So while this loop is busy, an event of another loop, or of any other
// goroutine's socket, would be noticed by the runtime's monitor only, which looks every 10 to 20 ms. A new goroutine makes the runtime wake
// a thread if a processor is idle; when that thread has nothing more to run, it waits in the poller. If no processor is idle, this costs
// some 100 ns.
func (e *epoll) lookOut() {
	e.woken = false
	e.lookouts++
	go func() {}()
}

func (e *epoll) wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(e.wakeFD, one[:]) // cannot block: the counter has room for 2^64 wakes
}

func (e *epoll) listen(l net.Listener, gen uint32) (int32, error) {
	sc, ok := l.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("a %T has no descriptor", l)
	}
	conn, err := sc.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, dupErr := -1, error(nil)
	if err := conn.Control(func(s uintptr) {
		fd, dupErr = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return -1, err
	}
	if dupErr != nil {
		return -1, os.NewSyscallError("dup", dupErr)
	}
	events := uint32(unix.EPOLLIN)
	if _, tcp := l.(*net.TCPListener); tcp {
		// Accepted sockets inherit these options.
		e.options(fd)
	} else {
		events |= unix.EPOLLEXCLUSIVE // the loops share the socket, and waking one loop is enough
	}
	if err := e.control(unix.EPOLL_CTL_ADD, int32(fd), gen, events); err != nil {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("epoll_ctl", err)
	}
	return int32(fd), nil
}

// options turns off Nagle's algorithm and enables keep-alive probes. Errors are ignored, because a socket works without the
// options.
func (e *epoll) options(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if e.config.KeepAlive < 0 {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0)
		return
	}
	seconds := int(max(e.config.KeepAlive/time.Second, 1))
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, seconds)
}

func (e *epoll) accept(listener int32) (int32, netip.AddrPort, error) {
	if e.short = e.short && descriptors.Short(); e.short {
		return -1, netip.AddrPort{}, errShort
	}
	var from unix.RawSockaddrAny
	fd, err := rawAccept(listener, &from)
	if err != nil {
		return -1, netip.AddrPort{}, err
	}
	e.short = descriptors.Reserved(int(fd))
	return fd, sockaddrPort(&from), nil
}

func (*epoll) detach(fd int32) detached { return detached{fd: fd} }

func (*epoll) attach(s detached) int32 { return s.fd }

func (e *epoll) dial(to Addr) (int32, error) {
	family, sa := sockaddr(to)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if descriptors.Spent(fd) {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("socket", unix.EMFILE)
	}
	if family != unix.AF_UNIX {
		e.options(fd)
	}
	if err := unix.Connect(fd, sa); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("connect", err)
	}
	return int32(fd), nil
}

func (e *epoll) connected(fd int32) error { return os.NewSyscallError("connect", e.failed(fd)) }

func (e *epoll) failed(fd int32) error {
	errno, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = unix.Errno(errno)
	}
	return err
}

const interest = unix.EPOLLIN | unix.EPOLLRDHUP

func (e *epoll) watch(fd int32, gen uint32, connecting bool) error {
	events := uint32(interest)
	if connecting {
		events |= unix.EPOLLOUT
	}
	return os.NewSyscallError("epoll_ctl", e.control(unix.EPOLL_CTL_ADD, fd, gen, events))
}

func (e *epoll) wantWrite(fd int32, gen uint32, on bool) error {
	events := uint32(interest)
	if on {
		events |= unix.EPOLLOUT
	}
	return os.NewSyscallError("epoll_ctl", e.control(unix.EPOLL_CTL_MOD, fd, gen, events))
}

func (e *epoll) read(fd int32, p []byte) (int, error) { return rawRead(fd, p) }

func (e *epoll) write(fd int32, queue *chunk) (int, error) { return rawWrite(fd, queue, &e.iovecs) }

func (e *epoll) unsent(fd int32) int { return rawUnsent(int(fd)) }

func (e *epoll) closeWrite(fd int32) error {
	return os.NewSyscallError("shutdown", unix.Shutdown(int(fd), unix.SHUT_WR))
}

func (e *epoll) close(fd int32, reset bool) {
	if reset {
		_ = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	// A child process that is just being started may have inherited the socket. In that case closing does not unregister the
	// socket.
	_ = unix.EpollCtl(e.fd, unix.EPOLL_CTL_DEL, int(fd), nil)
	_ = unix.Close(int(fd))
}

func (e *epoll) addrs(fd int32) (local, remote net.Addr) {
	if sa, err := unix.Getsockname(int(fd)); err == nil {
		local = netAddr(sa)
	}
	if sa, err := unix.Getpeername(int(fd)); err == nil {
		remote = netAddr(sa)
	}
	return local, remote
}

func (e *epoll) release() {
	e.pipe.close()
	_ = unix.Close(e.wakeFD)
	if e.file == nil {
		_ = unix.Close(e.fd)
		return
	}
	_ = e.file.Close()
}
