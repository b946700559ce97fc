//go:build !unix

package peer

import "io"

// nonblocking is not available on this system: the writing goroutine does all writes.
type nonblocking struct{}

func newNonblocking(io.Writer) *nonblocking { return nil }

func (*nonblocking) write([]byte) int { return 0 }
