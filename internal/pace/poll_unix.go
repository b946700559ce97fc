//go:build unix

package pace

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// pipe is read by poll, and never closed.
type pipe struct {
	reader, writer *os.File
	raw            syscall.RawConn // of reader
	out            uintptr         // descriptor of writer
}

// opened is nil if the process has no descriptors left, or the runtime's poller does not take the pipe. Without the poller, poll would fill
// the pipe, and then block.
var opened = sync.OnceValue(func() *pipe {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	p := &pipe{reader: r, writer: w}
	raw, err := w.SyscallConn()
	if err == nil {
		err = r.SetReadDeadline(time.Time{}) // an error says that the poller does not have r
	}
	if err == nil {
		err = raw.Control(func(fd uintptr) { p.out = fd })
	}
	if err == nil {
		p.raw, err = r.SyscallConn()
	}
	if err != nil {
		_, _ = r.Close(), w.Close()
		return nil
	}
	return p
})

// poll writes a byte into the pipe and waits until the runtime's poller reports it.
func poll() {
	p := opened()
	if p == nil {
		return
	}
	var b [1]byte
	written := false
	_ = p.raw.Read(func(fd uintptr) (done bool) { // an error means that there was nothing to wait for
		if written {
			_, _ = syscall.Read(int(fd), b[:])
			return true
		}
		written = true
		n, _ := syscall.Write(int(p.out), b[:])
		return n != 1
	})
}
