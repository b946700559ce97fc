package traffic

import "sync/atomic"

// Listener has the counters of one listener. Each loop passes its own index.
type Listener struct {
	Name    string
	perLoop []listenerCounters
}

// Renamed returns a Listener with another name and the counters of l. Snapshot shows the one that was passed to Keep.
func (l *Listener) Renamed(name string) *Listener {
	if l.Name == name {
		return l
	}
	return &Listener{Name: name, perLoop: l.perLoop}
}

// listenerCounters are the counters of one loop.
type listenerCounters struct {
	opened, closed atomic.Uint64
	refused        [refusals]atomic.Uint64
	_              [64]byte // keeps the counters of two loops on different cache lines
}

// Opened counts a connection that was accepted.
func (l *Listener) Opened(loop int) { l.perLoop[loop].opened.Add(1) }

// Closed counts a connection that ended.
func (l *Listener) Closed(loop int) { l.perLoop[loop].closed.Add(1) }

// Refused counts a request that was not forwarded, by reason.
func (l *Listener) Refused(loop int, why Refusal) { l.perLoop[loop].refused[why].Add(1) }

// ListenerStats is a snapshot of a Listener.
type ListenerStats struct {
	Name        string
	Connections int                // open now
	Accepted    uint64             // connections
	Refused     map[Refusal]uint64 // requests; has all reasons
}

func (l *Listener) stats() ListenerStats {
	s := ListenerStats{Name: l.Name, Refused: make(map[Refusal]uint64, refusals)}
	for i := range l.perLoop {
		c := &l.perLoop[i]
		closed := c.closed.Load() // loaded before opened, so the difference is never negative
		opened := c.opened.Load()
		s.Accepted += opened
		s.Connections += int(opened - closed)
		for why := Forwarded + 1; why < refusals; why++ {
			s.Refused[why] += c.refused[why].Load()
		}
	}
	return s
}
