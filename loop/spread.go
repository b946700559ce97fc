package loop

import (
	"math"
	"net/netip"
	"sync/atomic"
)

// The system gives a new TCP connection to a loop by a hash of its addresses. With few connections and many streams in each,
// some loops would get most of the work. So a loop that has more than its share of a Listener's connections hands the next one
// over to the loop with the fewest: the socket goes there before its first byte is read, and before the AcceptFunc is called.
//
// No lock is needed. A connection is counted in Listener.conns first and in one of Listener.loads then, and a load is raised
// only by compare-and-swap from the value that was compared with the share. So while connections only come, no load exceeds
// the share, however many loops accept at the same time. With 2 loops, 6 connections are 3 and 3.

// load is how many connections of a Listener one loop drives.
type load struct {
	conns atomic.Int64
	_     [56]byte // keeps the loads of two loops on different cache lines
}

// tolerance is the part of its share by which a loop's load may exceed it: an eighth. Thousands of connections that the system
// has spread by its hash are within it, and are not handed over. Up to 8 connections a loop, the spread is exact.
const tolerance = 8

// share returns how many of n connections one of loops may have.
func share(n, loops int64) int64 { return (n+loops-1)/loops + n/loops/tolerance }

// reserve makes room for a connection on l. If l has MaxConns, it makes room on another loop. It returns the loop, or nil if
// all are full. place or a subtraction from Loop.accepted follows.
func (ln *Listener) reserve(l *Loop) *Loop {
	for to := l; to != nil; to, _ = ln.leastLoaded() {
		if to.takeRoom() {
			return to
		}
	}
	return nil
}

// takeRoom counts an accepted connection, unless the loop has MaxConns.
func (l *Loop) takeRoom() bool {
	if l.accepted.Add(1) <= l.maxConns.Load() {
		return true
	}
	l.accepted.Add(-1)
	return false
}

// place chooses the loop for a connection that l has accepted, and counts the connection there. The room that was reserved
// moves to that loop.
func (ln *Listener) place(l, reserved *Loop) *Loop {
	loops := int64(len(ln.loads))
	if loops == 1 {
		return l
	}
	most := share(ln.conns.Add(1), loops)
	if reserved == l {
		own := &ln.loads[l.index].conns
		for n := own.Load(); n < most; n = own.Load() {
			if own.CompareAndSwap(n, n+1) {
				return l
			}
		}
	}
	for {
		to, n := ln.leastLoaded()
		if to == nil {
			break // all other loops are full
		}
		if to != reserved && !to.takeRoom() {
			continue
		}
		if ln.loads[to.index].conns.CompareAndSwap(n, n+1) {
			if to != reserved {
				reserved.accepted.Add(-1)
			}
			return to
		}
		if to != reserved {
			to.accepted.Add(-1)
		}
	}
	ln.loads[reserved.index].conns.Add(1)
	return reserved
}

// leastLoaded returns the loop with the fewest connections of ln, and their number. It skips loops that have MaxConns, and
// returns nil if all have.
func (ln *Listener) leastLoaded() (least *Loop, conns int64) {
	conns = math.MaxInt64
	for i, l := range ln.group.loops {
		if n := ln.loads[i].conns.Load(); n < conns && l.accepted.Load() < l.maxConns.Load() {
			least, conns = l, n
		}
	}
	return least, conns
}

// handOver passes an accepted socket on to another loop. The queue of sockets on their way is bounded by the MaxConns of that
// loop, not by its mailbox.
func (l *Loop) handOver(id int32, to *Loop, ln *Listener, from netip.AddrPort, ticket uint32) {
	s := l.sys.detach(id)
	err := to.post(func() { to.begin(to.sys.attach(s), ln, from, ticket) }, math.MaxInt)
	if err != nil { // to has ended
		ln.forget(to, ticket)
		l.stats.AcceptErrors++
		l.sys.close(l.sys.attach(s), true)
		return
	}
	l.stats.HandedOver++
}

// forget ends the counting of a connection by place and by the Gate.
func (ln *Listener) forget(l *Loop, ticket uint32) {
	l.accepted.Add(-1)
	if ln.gate != nil {
		ln.gate.Release(ticket)
	}
	if len(ln.loads) > 1 {
		ln.loads[l.index].conns.Add(-1)
		ln.conns.Add(-1)
	}
}
