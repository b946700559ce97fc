//go:build unix

package peer

import (
	"io"
	"syscall"
)

// nonblocking writes to a socket without blocking.
type nonblocking struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool // made once, so that a write allocates nothing
	b    []byte
	n    int
}

// newNonblocking returns nil if stream is no socket that can be written to this way.
func newNonblocking(stream io.Writer) *nonblocking {
	c, ok := stream.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	t := &nonblocking{raw: raw}
	t.once = func(fd uintptr) bool {
		if n, err := syscall.Write(int(fd), t.b); err == nil {
			t.n = n
		}
		return true
	}
	return t
}

// write returns how many bytes of b the socket took. An error counts as none: the next write meets it again.
func (t *nonblocking) write(b []byte) int {
	t.b, t.n = b, 0
	if err := t.raw.Write(t.once); err != nil {
		t.n = 0
	}
	t.b = nil
	return t.n
}
