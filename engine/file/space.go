package file

import (
	"fmt"
	"sync"
	"time"
)

const (
	keptFree   = 32 << 20 // bytes of the disk that records leave free
	spaceEvery = 200 * time.Millisecond
)

// space keeps the last bytes of a disk free, so that positions of cursors, and other programs, have some.
type space struct {
	dir string

	mu      sync.Mutex
	checked time.Time
	free    int64
}

// room returns an error unless the disk has n bytes beside keptFree. It looks at the disk at most each spaceEvery, and when little is left.
func (s *space) room(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.checked) > spaceEvery || s.free < keptFree+keptFree/4+n {
		free, err := freeBytes(s.dir)
		if err != nil {
			return fmt.Errorf("the disk of %s: %w", s.dir, err)
		}
		s.checked, s.free = now, free
	}
	if s.free-n < keptFree {
		return fmt.Errorf("the disk of %s is full: %d MiB are free, %d MiB are kept free", s.dir, s.free>>20, keptFree>>20)
	}
	s.free -= n
	return nil
}
