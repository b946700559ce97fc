package traffic

import (
	"sync/atomic"

	"example.com/ferry/protocol/http2"
)

// Listener has the counters of one listener. A loop passes its own index to each method.
type Listener struct {
	Name    string
	perLoop []listenerCounters
}

// Renamed returns a Listener with another name that shares the counters of l. Snapshot includes the Listener that was
// passed to Keep.
func (l *Listener) Renamed(name string) *Listener {
	if l.Name == name {
		return l
	}
	return &Listener{Name: name, perLoop: l.perLoop}
}

// listenerCounters are one loop's counters of a listener.
type listenerCounters struct {
	opened, closed atomic.Uint64
	refused        [refusals]atomic.Uint64
	refusedConns   [connRefusals]atomic.Uint64
	abused         [http2.AbuseKinds]atomic.Uint64
	handshakes     handshakeCounters
	_              [64]byte // keeps the counters of two loops on different cache lines
}

// Opened counts an accepted connection.
func (l *Listener) Opened(loop int) { l.perLoop[loop].opened.Add(1) }

// Closed counts a closed connection.
func (l *Listener) Closed(loop int) { l.perLoop[loop].closed.Add(1) }

// Refused counts a request that is not forwarded, and its reason.
func (l *Listener) Refused(loop int, why Refusal) { l.perLoop[loop].refused[why].Add(1) }

// ConnectionRefused counts a connection that was closed when it was accepted, and the reason. It is not counted as opened.
func (l *Listener) ConnectionRefused(loop int, why ConnRefusal) {
	l.perLoop[loop].refusedConns[why].Add(1)
}

// Abused counts a connection that was ended because its client misused the protocol.
func (l *Listener) Abused(loop int, how http2.Abuse) { l.perLoop[loop].abused[how].Add(1) }

// ListenerStats is a snapshot of a Listener.
type ListenerStats struct {
	Name        string
	Connections int                  // number of open connections
	Accepted    uint64               // number of accepted connections
	Refused     map[Refusal]uint64   // number of refused requests by reason; every reason is present
	Handshakes  map[Handshake]uint64 // number of TLS handshakes by result; nil if there were none, otherwise every result is present

	// RefusedConnections is the number of refused connections by reason. Every reason is present.
	RefusedConnections map[ConnRefusal]uint64

	// Abused is the number of connections that were ended because their clients misused the protocol. Every kind is present.
	Abused map[http2.Abuse]uint64
}

func (l *Listener) stats() ListenerStats {
	s := ListenerStats{
		Name: l.Name, Refused: make(map[Refusal]uint64, refusals), RefusedConnections: make(map[ConnRefusal]uint64, connRefusals),
		Abused: make(map[http2.Abuse]uint64, http2.AbuseKinds), Handshakes: l.handshakeStats(),
	}
	for i := range l.perLoop {
		c := &l.perLoop[i]
		closed := c.closed.Load() // loaded before opened, so that the difference is never negative
		opened := c.opened.Load()
		s.Accepted += opened
		s.Connections += int(opened - closed)
		for why := Forwarded + 1; why < refusals; why++ {
			s.Refused[why] += c.refused[why].Load()
		}
		for why := range connRefusals {
			s.RefusedConnections[why] += c.refusedConns[why].Load()
		}
		for how := http2.NoAbuse + 1; how < http2.AbuseKinds; how++ {
			s.Abused[how] += c.abused[how].Load()
		}
	}
	return s
}
