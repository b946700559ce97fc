package quic

import (
	"sync"

	"github.com/quic-go/quic-go"
)

// identifiedSet holds the open connections of a listener whose peer is identified. Only their receive windows may grow. All
// its methods may overlap. quic-go calls allow with its own locks held, so no method calls quic-go while it holds mu.
type identifiedSet struct {
	mu    sync.Mutex
	conns map[*quic.Conn]struct{}
}

// add lets the window of qc grow. A connection that has ended is not stored: the listener removes a connection once, when
// it ends.
func (s *identifiedSet) add(qc *quic.Conn) {
	s.mu.Lock()
	if s.conns == nil {
		s.conns = map[*quic.Conn]struct{}{}
	}
	s.conns[qc] = struct{}{}
	s.mu.Unlock()
	if qc.Context().Err() != nil {
		s.remove(qc)
	}
}

func (s *identifiedSet) remove(qc *quic.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, qc)
}

// allow implements quic.Config.AllowConnectionWindowIncrease.
func (s *identifiedSet) allow(qc *quic.Conn, _ uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.conns[qc]
	return ok
}
