package mqtt

import (
	"example.com/ferry/internal/bufpool"
)

// flightState is what a message with QoS 1 or 2, on its way to a client, waits for. MQTT 5.0, sections 4.3.2 and 4.3.3.
//
//	awaitsPuback ──PUBACK──► settled
//	awaitsPubrec ──PUBREC──► awaitsPubcomp ──PUBCOMP──► settled
type flightState uint8

const (
	settled flightState = iota
	awaitsPuback
	awaitsPubrec
	awaitsPubcomp
)

// flight is a message on its way to a client, until the client has it.
type flight struct {
	state    flightState
	sent     bool // on the present connection
	sub      *sub
	sequence uint64       // of a message that a durable delivers; 0 for others
	packet   *bufpool.Buf // PUBLISH to repeat on the next connection; nil if the durable repeats it, or the session ends with the connection
	expires  int64        // when packet expires, as expiryOf returns it
	size     int          // bytes that count as queued
}

// flights are the messages on their way to a client, in the order in which they were sent. Their packet identifiers are consecutive.
type flights struct {
	ring  []flight // its length is a power of two
	start int      // index in ring
	span  int      // flights, with settled ones behind the first
	first uint16   // packet identifier of the first one
	live  int      // flights that are not settled
	bytes int      // their sizes
}

// maxIDs is the number of packet identifiers: 1 to 65535.
const maxIDs = 65535

func (f *flights) at(i int) *flight { return &f.ring[(f.start+i)&(len(f.ring)-1)] }

// id returns the packet identifier of the flight with index i.
func (f *flights) id(i int) uint16 { return uint16((int(f.first)-1+i)%maxIDs + 1) }

// find returns the flight with a packet identifier, or nil.
func (f *flights) find(id uint16) *flight {
	if f.span == 0 || id == 0 {
		return nil
	}
	i := (int(id) - int(f.first) + maxIDs) % maxIDs
	if i >= f.span {
		return nil
	}
	if x := f.at(i); x.state != settled {
		return x
	}
	return nil
}

// ofRecord returns the flight of a record that a durable delivers, and its packet identifier, or nil.
func (f *flights) ofRecord(s *sub, sequence uint64) (*flight, uint16) {
	for i := range f.span {
		if x := f.at(i); x.state != settled && x.sequence == sequence && x.sub == s {
			return x, f.id(i)
		}
	}
	return nil, 0
}

// full reports whether limit messages are on their way. A client that acknowledges later messages but not the first one also stops
// the flow: the span is bounded.
func (f *flights) full(limit int) bool { return f.live >= limit || f.span >= min(4*limit, maxIDs) }

// sent returns how many flights were sent on the present connection.
func (f *flights) sent() (n int) {
	for i := range f.span {
		if x := f.at(i); x.state != settled && x.sent {
			n++
		}
	}
	return n
}

// add appends a flight and returns it with its packet identifier. The pointer is valid until the next call.
func (f *flights) add() (*flight, uint16) {
	if f.span == len(f.ring) {
		ring := make([]flight, max(2*len(f.ring), 1))
		for i := range f.span {
			ring[i] = *f.at(i)
		}
		f.ring, f.start = ring, 0
	}
	if f.first == 0 {
		f.first = 1
	}
	f.span++
	f.live++
	x := f.at(f.span - 1)
	*x = flight{}
	return x, f.id(f.span - 1)
}

// skipTo makes next the packet identifier of the next flight. Those between are not used: the client may still hold messages that had them.
func (f *flights) skipTo(next uint16) {
	if f.span == 0 {
		f.first = next
	}
	for f.span > 0 && f.span < maxIDs && next != 0 && f.id(f.span) != next {
		f.add()
		f.live--
	}
}

// settle ends a flight.
func (f *flights) settle(x *flight) {
	if x.packet != nil {
		x.packet.Release()
	}
	f.bytes -= x.size
	f.live--
	*x = flight{}
	for f.span > 0 && f.ring[f.start].state == settled {
		f.first = f.id(1)
		f.start = (f.start + 1) & (len(f.ring) - 1)
		f.span--
	}
	if f.span == 0 && len(f.ring) > 16 {
		f.ring, f.start = nil, 0
	}
}

// drop ends all flights for which drop is true.
func (f *flights) drop(drop func(*flight) bool) {
	for i := f.span - 1; i >= 0; i-- {
		if x := f.at(i); x.state != settled && drop(x) {
			f.settle(x)
		}
	}
}
