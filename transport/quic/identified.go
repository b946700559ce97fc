package quic

import (
	"sync"

	"github.com/quic-go/quic-go"
)

// identifiedSet holds those open connections of a listener whose peer is identified. Only these receive windows may grow. All
// methods may overlap. quic-go calls allow while it holds its own locks, so no method may call quic-go while it holds mu.
type identifiedSet struct {
	mu    sync.Mutex
	conns map[*quic.Conn]struct{}
}

// add lets the receive window of qc grow. It does not store a connection that has ended, because the listener has already
// removed that connection.
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
