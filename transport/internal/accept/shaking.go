package accept

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// shaking is a connection that knows whether its handshake waits for the peer.
type shaking struct {
	net.Conn
	cancel context.CancelCauseFunc
	over   atomic.Bool // the handshake has ended

	mu    sync.Mutex
	since time.Time // the handshake has waited for its peer first; zero before
	reads bool      // it waits now
}

// Read reads from the connection.
func (s *shaking) Read(p []byte) (int, error) {
	if s.over.Load() {
		return s.Conn.Read(p)
	}
	s.setReads(true)
	defer s.setReads(false)
	return s.Conn.Read(p)
}

func (s *shaking) setReads(reads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = reads
	if s.since.IsZero() {
		s.since = time.Now()
	}
}

// waits returns when the handshake has waited for its peer first, and whether it waits now.
func (s *shaking) waits() (since time.Time, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, s.reads
}
