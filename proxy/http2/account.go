package http2

import (
	"time"

	"example.com/ferry/internal/balance"
)

// A server closes a connection on which too many streams are reset or refused as invalid, and with it the requests of all clients that share
// it. Each client alone may do what the server allows one connection, so several together exceed that. account counts what a server may hold
// against a connection. When it is exhausted, the connection is retired: it takes no new stream, and another one is opened. Beyond one
// retirement a second, the client with the most faults is a suspect: suspects share a connection of their own.
//
// The limits are half of the least that is known. ferry closes a connection after 500 resets, of which each completed stream pays for one,
// and half a budget comes back each second. Envoy does so when more than half of at least 500 streams were reset early
// (overload.premature_reset_total_stream_count). nginx, HAProxy and net/http allow more.
type account struct {
	faults          int // that time and completed streams have not paid for
	paidAt          time.Duration
	streams, resets int // of the whole connection
}

const (
	mostFaults   = 250
	paidEach     = time.Second / 125 // time that pays for a fault
	leastStreams = 250               // before a share of resets counts
)

// fault counts a stream that was reset, or that the server refused as invalid.
func (a *account) fault(now time.Duration) {
	if paid := int((now - a.paidAt) / paidEach); paid > 0 {
		a.faults, a.paidAt = max(a.faults-paid, 0), now
	}
	a.faults++
	a.resets++
	a.streams++
}

// complete counts a stream that has ended without a fault.
func (a *account) complete() {
	a.faults = max(a.faults-1, 0)
	a.streams++
}

// exhausted reports whether the connection should carry no further stream.
func (a *account) exhausted() bool {
	return a.faults >= mostFaults || a.streams >= leastStreams && 2*a.resets > a.streams
}

const (
	retireGap   = time.Second // least time between two retirements of a pool
	suspectTime = time.Minute // time for which a client is a suspect after its last fault
	mostBlamed  = 1 << 10     // clients whose faults are counted, and suspects
)

// blame is who has caused the faults on the connections of a pool.
type blame struct {
	retiredAt time.Duration // when a connection was last retired; 0 if none was
	halvedAt  time.Duration
	faults    map[balance.Caller]int           // of the last seconds
	suspects  map[balance.Caller]time.Duration // until when
	until     time.Duration                    // when no client is a suspect any more, unless it has further faults
}

// anySuspect reports whether there is a suspect.
func (b *blame) anySuspect(now time.Duration) bool {
	if len(b.suspects) > 0 && b.until <= now {
		clear(b.suspects)
	}
	return len(b.suspects) > 0
}

// keep makes a client a suspect for a while.
func (b *blame) keep(client balance.Caller, now time.Duration) {
	b.until = now + suspectTime
	b.suspects[client] = b.until
}

// isSuspect reports whether requests of a client use the connection of suspects.
func (b *blame) isSuspect(client balance.Caller, now time.Duration) bool {
	until, ok := b.suspects[client]
	if ok && until <= now {
		delete(b.suspects, client)
	}
	return until > now
}

// add counts a fault of a client.
func (b *blame) add(client balance.Caller, now time.Duration) {
	if b.faults == nil {
		b.faults, b.suspects = map[balance.Caller]int{}, map[balance.Caller]time.Duration{}
	}
	if now-b.halvedAt >= time.Second {
		b.halvedAt = now
		for each, n := range b.faults {
			if b.faults[each] = n / 2; n < 2 {
				delete(b.faults, each)
			}
		}
	}
	if _, known := b.faults[client]; known || len(b.faults) < mostBlamed {
		b.faults[client]++
	}
	if b.isSuspect(client, now) {
		b.keep(client, now)
	}
}

// suspect makes the client with the most faults that is no suspect one.
func (b *blame) suspect(now time.Duration) {
	worst, most := balance.OwnRequest, 0
	for each, n := range b.faults {
		if n > most && !b.isSuspect(each, now) {
			worst, most = each, n
		}
	}
	if len(b.suspects) >= mostBlamed {
		for each := range b.suspects {
			b.isSuspect(each, now) // forgets those of long ago
		}
	}
	if most > 0 && len(b.suspects) < mostBlamed {
		b.keep(worst, now)
	}
}

// fault counts a fault of a client on the connection, which is retired if its account is exhausted. client is balance.OwnRequest if no
// client has caused it.
func (sc *serverConn) fault(client balance.Caller) {
	p, now := sc.pool, sc.pool.loop.Now()
	sc.account.fault(now)
	if client != balance.OwnRequest {
		p.blame.add(client, now)
	}
	switch {
	case sc.state != serverOpen || sc.suspect || !sc.account.exhausted():
	case p.blame.retiredAt == 0 || now-p.blame.retiredAt >= retireGap:
		p.blame.retiredAt = now
		sc.retired = true
		sc.enter(serverDraining)
	default:
		p.blame.suspect(now)
	}
}
