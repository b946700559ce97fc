package loop

import (
	"errors"
	"math"
	"net/netip"
)

// origin is a Listener whose connections a loop drives. A connection has no pointer to its Listener but an index of 16 bits
// in a table beside Loop.conns, because a loop holds many idle connections.
type origin struct {
	listener *Listener // nil: the entry is free
	open     bool      // the Listener is not closed
	conns    int       // its connections of this loop
}

// openOrigin adds the origin of ln. All loops have it before one of them accepts a connection of ln.
func (l *Loop) openOrigin(ln *Listener) error {
	i := l.originIndex(nil)
	if i == len(l.origins) {
		if i > math.MaxUint16 {
			return errors.New("65536 listeners are open, or closed ones still have connections")
		}
		l.origins = append(l.origins, origin{})
	}
	l.origins[i] = origin{listener: ln, open: true}
	return nil
}

// originIndex returns where the origin of ln is, or len(l.origins).
func (l *Loop) originIndex(ln *Listener) int {
	for i := range l.origins {
		if l.origins[i].listener == ln {
			return i
		}
	}
	return len(l.origins)
}

// closeOrigin removes the origin of a closed Listener once its last connection is closed.
func (l *Loop) closeOrigin(ln *Listener) {
	if i := l.originIndex(ln); i < len(l.origins) {
		l.origins[i].open = false
		l.freeOrigin(i)
	}
}

func (l *Loop) freeOrigin(i int) {
	if o := &l.origins[i]; !o.open && o.conns == 0 {
		o.listener = nil
	}
}

// peerAddr is the address of an accepted connection's peer, as accept has returned it. Later the system may not know it any more: a peer that
// resets the connection has none, though what it sent is still to be read. It has no pointer, because a loop holds many idle connections.
type peerAddr struct {
	ip   [16]byte
	port uint16
}

func (p peerAddr) addrPort() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(p.ip).Unmap(), p.port)
}

// setOrigin records the origin of an accepted connection. leaveOrigin follows when the connection is closed.
func (l *Loop) setOrigin(id int32, ln *Listener, from netip.AddrPort, ticket uint32) {
	i := l.originIndex(ln)
	l.origins[i].conns++
	put(&l.originOf, id, uint16(i))
	if from.IsValid() {
		put(&l.peerOf, id, peerAddr{from.Addr().As16(), from.Port()})
	} else if int(id) < len(l.peerOf) {
		l.peerOf[id] = peerAddr{}
	}
	if ln.gate != nil {
		put(&l.ticketOf, id, ticket)
	}
}

// put sets an element of a slice, which grows if it is too short.
func put[T any](s *[]T, i int32, v T) {
	if grow := int(i) + 1 - len(*s); grow > 0 {
		*s = append(*s, make([]T, grow)...)
	}
	(*s)[i] = v
}

// leaveOrigin ends the counting of an accepted connection.
func (l *Loop) leaveOrigin(id int32) {
	i := int(l.originOf[id])
	o := &l.origins[i]
	o.conns--
	ticket := uint32(0)
	if o.listener.gate != nil {
		ticket = l.ticketOf[id]
	}
	o.listener.forget(l, ticket)
	l.freeOrigin(i)
}
