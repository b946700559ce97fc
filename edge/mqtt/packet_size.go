package mqtt

import (
	"time"

	wire "example.com/ferry/protocol/mqtt"
)

// fits reports whether a client accepts a packet of so many bytes. limit is its Maximum Packet Size; 0 means that it has none. MQTT 5.0,
// section 3.1.2.11.4.
func fits(size int, limit uint32) bool { return limit == 0 || size <= int(limit) }

// lastPacket returns what ends a connection because of e: without the reason, or empty, if the client accepts nothing longer.
func lastPacket(e *wire.Error, v wire.Version, connected bool, limit uint32) []byte {
	b := e.AppendResponse(nil, v, connected)
	if !fits(len(b), limit) {
		short := *e
		short.Reason = ""
		b = short.AppendResponse(nil, v, connected)
	}
	if !fits(len(b), limit) {
		return nil
	}
	return b
}

// connack returns the CONNACK, or nil if the client does not accept one as long. It is the same for a session that is present and for
// a new one, but for a bit. MQTT 5.0, section 3.2.2.3.
func (c *conn) connack(h *hello, present bool) []byte {
	v := wire.ConnackPacket{SessionPresent: present}
	if c.version != wire.V5 {
		return wire.AppendConnack(nil, c.version, &v)
	}
	cfg := &c.ls.server.cfg
	ps := make(wire.Properties, 0, 64)
	ps = wire.AppendUint(ps, wire.SessionExpiryInterval, uint32(h.expiry/time.Second))
	ps = wire.AppendUint(ps, wire.ReceiveMaximum, uint32(cfg.MaxInFlight))
	ps = wire.AppendUint(ps, wire.MaximumPacketSize, uint32(c.ls.listener.maxPacket))
	if h.assigned {
		ps = wire.AppendText(ps, wire.AssignedClientIdentifier, h.clientID)
	}
	v.Properties = wire.AppendUint(ps[:len(ps):len(ps)], wire.TopicAliasMaximum, maxAliases)
	b := wire.AppendConnack(nil, c.version, &v)
	if !fits(len(b), h.peer.maxPacket) {
		v.Properties = ps // without the last one, the client uses no aliases
		b = wire.AppendConnack(b[:0], c.version, &v)
	}
	if !fits(len(b), h.peer.maxPacket) {
		return nil
	}
	return b
}

// checkCodes returns an error that ends the connection if the client does not accept a SUBACK or UNSUBACK with so many reason codes.
func (c *conn) checkCodes(kind wire.Kind, count int) error {
	limit := c.session.peer.maxPacket
	if limit == 0 {
		return nil
	}
	response := wire.SubackPacket{Kind: kind, Codes: make([]byte, count)}
	if fits(len(wire.AppendSuback(nil, c.version, &response)), limit) {
		return nil
	}
	return &wire.Error{Code: wire.PacketTooLarge, Kind: kind, Close: true, Reason: "the response would be larger than the client accepts: use fewer filters in one packet"}
}

// The most bytes by which properties that session.address adds make a packet longer: their own, and those of two longer lengths.
const (
	identifierSize = 5 + 2
	aliasSize      = 3 + 2
)

// tooLarge reports whether the client does not accept a message, which counts as delivered then. The topic alias does not count: a packet
// that is too large with one has none.
func (s *session) tooLarge(x *sub, tag string, p *wire.PublishPacket) bool {
	limit := s.peer.maxPacket
	if limit == 0 {
		return false
	}
	whole := *p
	whole.Topic = []byte(tag)
	size := wire.PublishSize(s.peer.version, &whole)
	if x.id > 0 && fits(size, limit) && !fits(size+identifierSize, limit) {
		whole.Properties = withIdentifier(p.Properties, x.id)
		size = wire.PublishSize(s.peer.version, &whole)
	}
	return !fits(size, limit)
}

// withIdentifier returns a copy of properties with a Subscription Identifier, unless that is 0, and with room for a Topic Alias.
func withIdentifier(ps wire.Properties, id uint32) wire.Properties {
	ps = append(make(wire.Properties, 0, len(ps)+identifierSize+aliasSize), ps...)
	if id > 0 {
		ps = wire.AppendUint(ps, wire.SubscriptionIdentifier, id)
	}
	return ps
}
