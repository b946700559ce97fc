package loop

import (
	"errors"
	"math"
	"net/netip"
)

// origin is a Listener whose connections a loop drives. A connection has no pointer to its Listener but its place
// in Loop.origins, because a loop holds many idle connections.
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

// setOrigin records the origin of an accepted connection, and its address. leaveOrigin follows when the connection is closed.
func (l *Loop) setOrigin(c *Conn, ln *Listener, from netip.AddrPort, ticket uint32) {
	i := l.originIndex(ln)
	l.origins[i].conns++
	c.origin = uint16(i)
	if from.IsValid() {
		c.ip, c.port = from.Addr().As16(), from.Port()
	}
	if ln.gate != nil {
		if grow := int(c.id) + 1 - len(l.ticketOf); grow > 0 {
			l.ticketOf = append(l.ticketOf, make([]uint32, grow)...)
		}
		l.ticketOf[c.id] = ticket
	}
}

// leaveOrigin ends the counting of an accepted connection.
func (l *Loop) leaveOrigin(c *Conn) {
	i := int(c.origin)
	o := &l.origins[i]
	o.conns--
	ticket := uint32(0)
	if o.listener.gate != nil {
		ticket = l.ticketOf[c.id]
	}
	o.listener.forget(l, ticket)
	l.freeOrigin(i)
}
