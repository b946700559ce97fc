package limit

import (
	"net/netip"
	"sync/atomic"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/overload"
	"example.com/ferry/proxy/traffic"
)

// Total counts the connections of all listeners of a proxy. Any goroutine may use it.
type Total struct {
	max      atomic.Int64    // largest number of connections
	Overload *overload.State // nil: nothing is shed
	open     atomic.Int64
}

// NewTotal returns a Total for at most n connections.
func NewTotal(n int) *Total {
	t := &Total{}
	t.SetMax(n)
	return t
}

// Max returns the largest number of connections.
func (t *Total) Max() int64 { return t.max.Load() }

// SetMax changes the largest number of connections. If more are open, they stay.
func (t *Total) SetMax(n int) { t.max.Store(int64(n)) }

// Open returns the number of open connections.
func (t *Total) Open() int64 { return t.open.Load() }

// Connections limits the connections of one listener. It is the listener's loop.Gate. Any goroutine may call its methods.
type Connections struct {
	total     *Total
	settings  atomic.Pointer[settings]
	open      atomic.Int64
	addresses addresses
}

var _ loop.Gate = (*Connections)(nil)

// settings are what a reload replaces.
type settings struct {
	connections int64 // 0: no limit
	perAddress  int64 // 0: freeFactor; negative: no limit
	counters    *traffic.Listener
}

// freeFactor bounds the connections of one address by this multiple of the free ones. It is the dynamic threshold of shared
// buffers (Choudhury and Hahne, 1998): k addresses that take all they can leave 1/(1+7k) of the connections free, for others.
const freeFactor = 7

// NewConnections creates the limits of a listener. Use is called before the first connection.
func NewConnections(total *Total) *Connections {
	c := &Connections{total: total}
	c.addresses.init()
	return c
}

// Use applies cfg to connections that are accepted from now on. counters count the refused ones.
func (c *Connections) Use(cfg *Config, counters *traffic.Listener) {
	c.settings.Store(&settings{
		connections: int64(max(cfg.Connections, 0)), perAddress: int64(cfg.ConnectionsPerAddress), counters: counters,
	})
}

// Admit is a method of loop.Gate.
func (c *Connections) Admit(l *loop.Loop, from netip.Addr) (ticket uint32, admitted bool) {
	s := c.settings.Load()
	if c.total.Overload.RefusesConnection() {
		s.counters.ConnectionRefused(l.Index(), traffic.ConnectionShed)
		return noAddress, false
	}
	free := c.total.Max() - c.total.open.Add(1) + 1 // before this connection
	open := c.open.Add(1)
	if s.connections > 0 {
		free = min(free, s.connections-open+1)
		if open > s.connections {
			c.refuse(l, s, traffic.ConnectionLimit)
			return noAddress, false
		}
	}
	if s.perAddress >= 0 && from.IsValid() {
		most := s.perAddress
		if most == 0 {
			most = max(freeFactor*free, 1)
		}
		if ticket, admitted = c.addresses.enter(networkOf(from), most); !admitted {
			c.refuse(l, s, traffic.AddressLimit)
			return noAddress, false
		}
	}
	return ticket, true
}

// refuse ends the counting of a connection that is not admitted, and counts why.
func (c *Connections) refuse(l *loop.Loop, s *settings, why traffic.ConnRefusal) {
	c.open.Add(-1)
	c.total.open.Add(-1)
	s.counters.ConnectionRefused(l.Index(), why)
}

// Release is a method of loop.Gate.
func (c *Connections) Release(ticket uint32) {
	c.open.Add(-1)
	c.total.open.Add(-1)
	if ticket != noAddress {
		c.addresses.leave(ticket)
	}
}
