package worker

import (
	"io"
	"strings"
	"sync"
)

// tailSize is how much of what a process printed its DiedError quotes, in bytes.
const tailSize = 2 << 10

// tail keeps the end of what is written to it, and passes everything on.
type tail struct {
	mu   sync.Mutex
	last []byte
	next io.Writer // nil: nobody wants it
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.last = append(t.last, p[max(0, len(p)-tailSize):]...)
	if over := len(t.last) - tailSize; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	t.mu.Unlock()
	if t.next != nil {
		_, _ = t.next.Write(p) // that a log is full does not end the worker
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.last))
}

// shared lets several processes print to one Writer.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
