package loop

import (
	"cmp"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// The size of a pipe. The kernel counts places of 4 KiB, and a segment of the network takes a place, however short it is. A user
// with many pipes gets tiny ones (pipe-user-pages-soft of pipe(7)), which cost more than copies.
const (
	pipeBytes  = 1 << 20
	leastBytes = 64 << 10
)

// pipe is a pipe between two sockets. It is empty except within a call of Loop.splice.
type pipe struct {
	r, w int
	open bool
	none bool // the system cannot splice sockets
}

func (p *pipe) make() error {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	p.r, p.w, p.open = fds[0], fds[1], true
	_, _ = unix.FcntlInt(uintptr(p.w), unix.F_SETPIPE_SZ, pipeBytes) // without the permission it keeps its size
	if size, err := unix.FcntlInt(uintptr(p.w), unix.F_GETPIPE_SZ, 0); err != nil || size < leastBytes {
		p.close()
		p.none = true
		return errNoSplice
	}
	return nil
}

func (p *pipe) close() {
	if p.open {
		_, _ = unix.Close(p.r), unix.Close(p.w)
		p.open = false
	}
}

func (e *epoll) splice(from, to int32, n int) (received, sent int, again bool, err error) {
	if e.pipe.none || !e.pipe.open && e.pipe.make() != nil {
		return 0, 0, false, errNoSplice
	}
	received, err = rawSplice(int(from), e.pipe.w, n)
	switch {
	case errors.Is(err, unix.EINVAL):
		e.pipe.none = true
		return 0, 0, false, errNoSplice
	case err != nil:
		return 0, 0, false, err
	case received == 0:
		return 0, 0, false, io.EOF
	}
	for sent < received {
		k, err := rawSplice(e.pipe.r, int(to), received-sent)
		if err != nil || k == 0 {
			return received, sent, errors.Is(err, ErrAgain), nil
		}
		sent += k
	}
	return received, sent, false, nil
}

func (e *epoll) unspliced(p []byte) (int, error) {
	n, err := unix.Read(e.pipe.r, p) // rawRead is for sockets only
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Read(e.pipe.r, p)
	}
	if err == nil && n > 0 {
		return n, nil
	}
	e.pipe.close() // no byte in it may reach another connection
	return 0, os.NewSyscallError("read", cmp.Or(err, io.ErrUnexpectedEOF))
}

func (e *epoll) pending(fd int32) int {
	n, err := unix.IoctlGetInt(int(fd), unix.SIOCINQ)
	if err != nil {
		return 1 // a read will tell
	}
	return n
}

func (e *epoll) quiet(fd int32) bool { return rawPeek(fd) }
