//go:build unix

package link

import (
	"io"
	"syscall"
)

// try writes to a socket without waiting for it.
type try struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool // made once, so that a write allocates nothing
	b    []byte
	n    int
}

// newTry returns nil if w is no socket that can be written to this way.
func newTry(w io.Writer) *try {
	c, ok := w.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	t := &try{raw: raw}
	t.once = func(fd uintptr) bool {
		if n, err := syscall.Write(int(fd), t.b); err == nil {
			t.n = n
		}
		return true
	}
	return t
}

// write returns how much of b the socket took at once. An error counts as nothing: the next write meets it again.
func (t *try) write(b []byte) int {
	t.b, t.n = b, 0
	if err := t.raw.Write(t.once); err != nil {
		t.n = 0
	}
	t.b = nil
	return t.n
}
