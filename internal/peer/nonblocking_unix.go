//go:build unix

package peer

import (
	"io"
	"syscall"
)

// nonblocking writes to a socket without blocking.
type nonblocking struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool // created once, so that a write allocates nothing
	b    []byte
	n    int
}

// newNonblocking returns nil if stream is not a socket that supports such writes.
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

// write returns how many bytes of b the socket accepted. After an error it returns 0; the next write reports that
// error.
func (t *nonblocking) write(b []byte) int {
	t.b, t.n = b, 0
	if err := t.raw.Write(t.once); err != nil {
		t.n = 0
	}
	t.b = nil
	return t.n
}
