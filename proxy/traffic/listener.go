package traffic

import "sync/atomic"

// Listener is the counters of one listener. Each loop calls with its own index.
type Listener struct {
	Name   string
	shares []listenerShare
}

// Renamed returns l under another name: both count into the same counters. A Book shows whichever of them Keep was given.
func (l *Listener) Renamed(name string) *Listener {
	if l.Name == name {
		return l
	}
	return &Listener{Name: name, shares: l.shares}
}

// listenerShare is what one loop has counted.
type listenerShare struct {
	opened, closed atomic.Uint64
	refused        [refusals]atomic.Uint64
	_              [64]byte // so that the next loop's share is on another cache line
}

// Opened counts a connection that was accepted.
func (l *Listener) Opened(loop int) { l.shares[loop].opened.Add(1) }

// Closed counts a connection that ended.
func (l *Listener) Closed(loop int) { l.shares[loop].closed.Add(1) }

// Refused counts a request that was not forwarded, and why.
func (l *Listener) Refused(loop int, why Refusal) { l.shares[loop].refused[why].Add(1) }

// ListenerStats is what a Listener has counted.
type ListenerStats struct {
	Name        string
	Connections int                // open now
	Accepted    uint64             // connections
	Refused     map[Refusal]uint64 // requests, by every reason there is
}

func (l *Listener) stats() ListenerStats {
	s := ListenerStats{Name: l.Name, Refused: make(map[Refusal]uint64, refusals)}
	for i := range l.shares {
		share := &l.shares[i]
		closed := share.closed.Load() // before opened, which is never less
		opened := share.opened.Load()
		s.Accepted += opened
		s.Connections += int(opened - closed)
		for why := Forwarded + 1; why < refusals; why++ {
			s.Refused[why] += share.refused[why].Load()
		}
	}
	return s
}
