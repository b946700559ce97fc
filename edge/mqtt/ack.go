package mqtt

import (
	"example.com/ferry/broker"
	wire "example.com/ferry/protocol/mqtt"
)

// acknowledge handles PUBACK, PUBREC, PUBREL and PUBCOMP. MQTT 5.0, sections 4.3.2 and 4.3.3. The error ends the connection.
func (c *conn) acknowledge(a *wire.AckPacket) error {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.needExchange()
	if a.Kind == wire.Pubrel {
		code := wire.Success
		state, ok := s.received[a.ID]
		switch {
		case !ok:
			code = wire.PacketIdentifierNotFound
		case state == receivedStored && s.pending.unreleased > 0: // it may be of an earlier connection
			s.pending.unreleased--
		}
		delete(s.received, a.ID)
		s.changed()
		s.respondTo(wire.Pubcomp, a.ID, code)
		return nil
	}
	f := s.flights.find(a.ID)
	switch {
	case f == nil:
		if a.Kind == wire.Pubrec && !a.Code.Failed() {
			s.respondTo(wire.Pubrel, a.ID, wire.PacketIdentifierNotFound)
		}
	case a.Kind == wire.Puback && f.state == awaitsPuback, a.Kind == wire.Pubrec && f.state == awaitsPubrec && a.Code.Failed():
		s.taken(f, a.Code)
		s.flights.settle(f)
		s.changed()
	case a.Kind == wire.Pubrec && f.state != awaitsPuback:
		if f.state == awaitsPubrec {
			s.taken(f, a.Code)
			f.state = awaitsPubcomp
			if f.packet != nil {
				f.packet.Release()
				f.packet = nil
			}
		}
		s.respondTo(wire.Pubrel, a.ID, wire.Success)
		s.changed()
	case a.Kind == wire.Pubcomp && f.state == awaitsPubcomp:
		s.flights.settle(f)
		s.changed()
	default:
		return &wire.Error{Code: wire.ProtocolError, Kind: a.Kind, Close: true, Reason: "the packet does not belong to the QoS of its message"}
	}
	return nil
}

// changed notes that a session that outlives its connection has changed. The caller holds the lock.
func (s *session) changed() {
	if s.persists() {
		s.server.dirty.Store(true)
	}
}

// persists reports whether the session outlives its connection. The caller holds the lock.
func (s *session) persists() bool { return s.lifetime > 0 }

// respondTo appends a PUBREL or PUBCOMP. The caller holds the lock.
func (s *session) respondTo(kind wire.Kind, id uint16, code wire.ReasonCode) {
	out := s.room(maxAck)
	out.B = wire.AppendAck(out.B, s.peer.version, wire.AckPacket{Kind: kind, ID: id, Code: code})
}

// taken notes that the client has the message of a flight, or has refused it. The caller holds the lock.
func (s *session) taken(f *flight, code wire.ReasonCode) {
	if f.sequence == 0 || f.sub == nil {
		return
	}
	d := delivered{sub: f.sub, sequence: f.sequence}
	if code.Failed() {
		d.rejected = code.String()
	}
	s.settled = append(s.settled, d)
}

// ack tells the durables which messages are done. The caller holds no lock.
func ack(list []delivered) {
	for i := 0; i < len(list); {
		d := list[i]
		count := uint32(1)
		for i++; i < len(list) && list[i] == (delivered{sub: d.sub, sequence: d.sequence + uint64(count), rejected: d.rejected}); i++ {
			count++
		}
		switch {
		case d.sub.local == nil:
		case d.rejected != "":
			d.sub.local.Nak(d.sequence, count, broker.NakReject, 0, "the client has refused it: "+d.rejected)
		default:
			d.sub.local.Ack(d.sequence, count)
		}
	}
}
