package rawpoll

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const most = 512 // maximum number of events that one Wait returns

// Poll waits for descriptors to be readable. It is for one goroutine.
type Poll struct {
	fd     int
	events [most]unix.EpollEvent
	ready  [most]int
}

// New creates an epoll instance. The caller closes it.
func New() (*Poll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("rawpoll: epoll: %w", err)
	}
	return &Poll{fd: fd}, nil
}

// Close ends the instance; descriptors in it stay open.
func (p *Poll) Close() { _ = unix.Close(p.fd) }

// Add makes Wait return fd while there is something to read or to accept (level-triggered). Closing fd removes it.
func (p *Poll) Add(fd int) error {
	err := unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(fd)})
	if err != nil {
		return fmt.Errorf("rawpoll: add descriptor %d: %w", fd, err)
	}
	return nil
}

// AwaitRoom makes Wait return fd also while there is room to write, or no longer.
func (p *Poll) AwaitRoom(fd int, on bool) error {
	events := uint32(unix.EPOLLIN | unix.EPOLLRDHUP)
	if on {
		events |= unix.EPOLLOUT
	}
	if err := unix.EpollCtl(p.fd, unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("rawpoll: change descriptor %d: %w", fd, err)
	}
	return nil
}

// Wait returns at most 512 descriptors that are ready to read. It returns none after the timeout; a negative timeout waits
// forever. The slice is valid until the next call.
func (p *Poll) Wait(timeout time.Duration) ([]int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events)), most, 0, 0, 0)
	if errno == 0 && n == 0 && timeout != 0 {
		var until *unix.Timespec
		if timeout > 0 {
			t := unix.NsecToTimespec(timeout.Nanoseconds())
			until = &t
		}
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events)), most, uintptr(unsafe.Pointer(until)), 0, 0)
	}
	if errno == unix.EINTR {
		return nil, nil
	}
	if errno != 0 {
		return nil, fmt.Errorf("rawpoll: epoll_pwait2, Linux 5.11: %w", errno)
	}
	for i, e := range p.events[:n] {
		p.ready[i] = int(e.Fd)
	}
	return p.ready[:n], nil
}
