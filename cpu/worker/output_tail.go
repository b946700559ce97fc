package worker

import (
	"io"
	"strings"
	"sync"
)

// tailSize is how many bytes of a process's output a DiedError quotes.
const tailSize = 2 << 10

// outputTail stores the last bytes written to it, and passes all bytes on to next.
type outputTail struct {
	mu   sync.Mutex
	last []byte
	next io.Writer // may be nil
}

func (t *outputTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.last = append(t.last, p[max(0, len(p)-tailSize):]...)
	if over := len(t.last) - tailSize; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	t.mu.Unlock()
	if t.next != nil {
		_, _ = t.next.Write(p) // a failed write to the log does not end the worker
	}
	return len(p), nil
}

func (t *outputTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.last))
}

// lockedWriter lets several processes write to one Writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *lockedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
