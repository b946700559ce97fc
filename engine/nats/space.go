package nats

import (
	"fmt"
	"sync"
	"time"
)

const (
	keptFree     = 32 << 20 // bytes of the disk that appended records leave free
	keptFreeLast = 8 << 20  // and that positions of cursors leave free
	spaceEvery   = 200 * time.Millisecond
)

// space keeps the embedded server from a full disk. The server stops a stream for good at the first write that fails.
type space struct {
	dir string

	mu      sync.Mutex
	checked time.Time
	free    int64
	err     error // of the last look
}

// check returns an error unless the disk has room for n bytes beside kept. It looks at the disk at most each spaceEvery, and
// when a quarter of keptFree was written since.
func (s *space) check(n, kept int64) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.checked) > spaceEvery || s.free < kept+keptFree/4+n {
		s.checked = now
		s.free, s.err = freeBytes(s.dir)
	}
	if s.err != nil {
		return fmt.Errorf("the disk of %s: %w", s.dir, s.err)
	}
	if s.free-n < kept {
		return fmt.Errorf("the disk of %s is full: %d MiB are free, %d MiB are kept free", s.dir, s.free>>20, kept>>20)
	}
	s.free -= n
	return nil
}
