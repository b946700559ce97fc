package mqtt

import (
	"testing"

	"example.com/ferry/internal/bufpool"
)

// TestDropLost: of what was on its way on the last connection, only messages that a durable should have delivered again are dropped, and
// only if there was room for them.
func TestDropLost(t *testing.T) {
	s := &session{server: &Server{cfg: Config{MaxInFlight: 8}}, exchange: &exchange{}, peer: peerLimits{receiveMax: 2}}
	add := func(f flight) uint16 {
		to, id := s.flights.add()
		*to = f
		return id
	}
	sent := add(flight{state: awaitsPuback, sent: true, sequence: 1})
	second := add(flight{state: awaitsPuback, sent: true, sequence: 2})
	lost := add(flight{state: awaitsPubrec, sequence: 3})
	packet := add(flight{state: awaitsPuback, packet: bufpool.Get(1)})
	release := add(flight{state: awaitsPubcomp, sequence: 4})
	s.dropLost()
	if s.flights.live != 5 {
		t.Errorf("%d messages on their way, want 5: the client has to acknowledge two of them first", s.flights.live)
	}
	s.flights.settle(s.flights.find(second))
	s.dropLost()
	for id, want := range map[uint16]bool{sent: true, lost: false, packet: true, release: true} {
		if got := s.flights.find(id) != nil; got != want {
			t.Errorf("packet %d is on its way: %v, want %v", id, got, want)
		}
	}
}

// TestSkipTo: skipTo sets the packet identifier of the next flight, with and without flights before it.
func TestSkipTo(t *testing.T) {
	var f flights
	f.skipTo(65534)
	to, first := f.add()
	to.state = awaitsPuback
	f.skipTo(3)
	_, next := f.add()
	if first != 65534 || next != 3 || f.live != 2 || f.find(1) != nil || f.find(first) == nil {
		t.Errorf("packet identifiers %d and %d with %d live, want 65534 and 3 with 2", first, next, f.live)
	}
}
