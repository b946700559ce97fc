package mqtt

import (
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/mqttmessage"
	wire "example.com/ferry/protocol/mqtt"
)

// Deliver appends PUBLISH packets for the client. What it does not take stays in the delivery queue of the broker, or in the stream.
// While the client is away, that is everything with a QoS above 0.
func (k *local) Deliver(hs *broker.LocalSub, run *broker.Run) (taken int) {
	s, x := k.session.Load(), subOf(hs)
	if s == nil || x == nil {
		return run.Len()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var m broker.Message
	for run.Next(&m) {
		if !s.take(x, &m) {
			s.paused = true
			return taken
		}
		taken++
	}
	return taken
}

// take sends a message of the broker to the client, or drops it. It returns false if that has to wait. The caller holds the lock.
func (s *session) take(x *sub, m *broker.Message) bool {
	e := mqttmessage.EntryOf(m.Extension)
	qos := x.qosOf(&e)
	switch {
	case s.conn == nil && qos > 0, s.conn != nil && !x.ready, s.exchange != nil && len(s.retained) > 0, s.repeating:
		return false
	}
	if f, id := s.flightOf(x, m); f != nil {
		return s.repeat(f, id, x, m)
	}
	switch {
	case s.conn == nil, x.noLocal && e.Publisher == s.number, hidden(x.tags, m.Tag):
		s.done(x, m.Sequence)
		return true
	}
	expires := expiryOf(e.Properties, m.Time)
	properties, expired := remaining(e.Properties, expires)
	if expired {
		s.done(x, m.Sequence)
		s.server.counters.dropped.Add(1)
		return true
	}
	p := wire.PublishPacket{QoS: qos, Retain: x.retainAsPublished && e.Retain, Properties: properties, Payload: m.Payload}
	return s.send(x, m.Tag, &p, m.Sequence, expires)
}

// qosOf returns the QoS with which a message is delivered: MQTT 5.0, section 3.8.4. A message that did not come by MQTT has the QoS of
// the subscription if a stream stores it at least once, and else 0.
func (x *sub) qosOf(e *mqttmessage.Entry) byte {
	switch {
	case e.Known:
		return min(e.QoS, x.qos)
	case x.stored:
		return x.qos
	}
	return 0
}

// hidden reports whether the filter does not match the tag although the broker says so: MQTT 5.0, section 4.7.2.
func hidden(filter, tag string) bool {
	return tag[0] == '$' && (filter[0] == '#' || filter[0] == '+')
}

// expiryOf returns when a message expires, in Unix nanoseconds; 0 means never. ps are the properties with which it was published, at the
// time published. MQTT 5.0, section 3.3.2.3.3.
func expiryOf(ps wire.Properties, published int64) int64 {
	interval, ok := ps.Uint(wire.MessageExpiryInterval)
	if !ok {
		return 0
	}
	return max(min(published, time.Now().UnixNano())+int64(interval)*int64(time.Second), 1)
}

// remaining returns the properties with what is left of the message's expiry interval. expires is the result of expiryOf. After that time
// the interval is 0. It is never longer than in ps, also after the system's clock was set back.
func remaining(ps wire.Properties, expires int64) (left wire.Properties, expired bool) {
	if expires == 0 {
		return ps, false
	}
	wait := max(expires-time.Now().UnixNano(), 0)
	left = make(wire.Properties, 0, len(ps))
	for p := range ps.All() {
		if p.ID == wire.MessageExpiryInterval {
			p.Uint = uint32(min((wait+int64(time.Second)-1)/int64(time.Second), int64(p.Uint)))
		}
		left = appendProperty(left, p)
	}
	return left, wait == 0
}

func appendProperty(ps wire.Properties, p wire.Property) wire.Properties {
	switch p.ID {
	case wire.UserProperty:
		return wire.AppendUser(ps, p.Name, p.Text)
	case wire.PayloadFormatIndicator, wire.MessageExpiryInterval, wire.SubscriptionIdentifier:
		return wire.AppendUint(ps, p.ID, p.Uint)
	}
	return wire.AppendText(ps, p.ID, p.Text)
}

// done notes that a message needs no more of the client. sequence is 0 unless a durable has delivered it.
func (s *session) done(x *sub, sequence uint64) {
	if sequence > 0 {
		s.needExchange()
		s.settled = append(s.settled, delivered{sub: x, sequence: sequence})
	}
}

// flightOf returns the flight of a message that a durable delivers again, and its packet identifier, or nil.
func (s *session) flightOf(x *sub, m *broker.Message) (*flight, uint16) {
	if m.Sequence == 0 || s.exchange == nil || s.flights.live == 0 || s.conn == nil {
		return nil, 0
	}
	return s.flights.ofRecord(x, m.Sequence)
}

// repeat handles a message that a durable delivers again: it is sent with the same packet identifier on another connection, not again on
// the same one. MQTT 5.0, section 4.4. It returns false if there is no room.
func (s *session) repeat(f *flight, id uint16, x *sub, m *broker.Message) bool {
	switch {
	case f.state == awaitsPubcomp:
		s.done(x, m.Sequence)
	case !f.sent:
		if s.flights.sent() >= s.window() || s.out != nil && len(s.out.B) >= outgoingBytes {
			return false
		}
		e := mqttmessage.EntryOf(m.Extension)
		properties, _ := remaining(e.Properties, expiryOf(e.Properties, m.Time)) // its delivery has begun: expired or not, it is repeated
		p := wire.PublishPacket{
			QoS: 1, Dup: true, ID: id, Retain: x.retainAsPublished && e.Retain, Properties: properties, Payload: m.Payload,
		}
		if f.state == awaitsPubrec {
			p.QoS = 2
		}
		if f.sent = s.append(x, m.Tag, &p); !f.sent { // the client accepts no packet of this size any more
			s.flights.settle(f)
			s.done(x, m.Sequence)
		}
	}
	return true
}

// send appends a PUBLISH for a message, with a packet identifier if its QoS needs one. It returns false if there is no room. expires is the
// result of expiryOf. The caller holds the lock.
func (s *session) send(x *sub, tag string, p *wire.PublishPacket, sequence uint64, expires int64) bool {
	if s.out != nil && len(s.out.B) >= outgoingBytes {
		return false
	}
	if p.QoS == 0 {
		if s.append(x, tag, p) {
			s.server.counters.sent[0].Add(1)
		}
		s.done(x, sequence)
		return true
	}
	s.needExchange()
	if s.flights.full(s.window()) || s.flights.bytes >= s.server.cfg.Queue {
		return false
	}
	if s.tooLarge(x, tag, p) {
		s.done(x, sequence)
		s.server.counters.dropped.Add(1)
		return true
	}
	f, id := s.flights.add()
	f.state, f.sent, f.sub, f.sequence, f.size = awaitsPuback, true, x, sequence, len(tag)+len(p.Payload)+len(p.Properties)+flightOverhead
	if p.QoS == 2 {
		f.state = awaitsPubrec
	}
	s.flights.bytes += f.size
	p.ID = id
	if sequence == 0 && s.persists() {
		f.packet, f.expires = s.copyOf(x, tag, p), expires
	}
	if s.persists() {
		s.server.dirty.Store(true)
	}
	s.append(x, tag, p)
	s.server.counters.sent[p.QoS].Add(1)
	return true
}

// maxHeader is the most bytes of a fixed header: the codec makes room for so many.
const maxHeader = 5

// window returns how many messages with QoS 1 and 2 may be on their way to the client. The caller holds the lock.
func (s *session) window() int { return min(int(s.peer.receiveMax), s.server.cfg.MaxInFlight) }

// canTake reports whether the broker may deliver again. The caller holds the lock.
func (s *session) canTake() bool {
	if s.repeating || s.out != nil && len(s.out.B) >= outgoingBytes {
		return false
	}
	if s.exchange == nil {
		return true
	}
	if len(s.retained) > 0 {
		return false
	}
	sent := s.flights.sent()
	return sent < s.window() && (sent < s.flights.live || s.flights.bytes < s.server.cfg.Queue) // durables deliver again what was not sent
}

// flightOverhead is what a flight takes beside its message, in bytes.
const flightOverhead = 64

// append appends a PUBLISH. It returns false if the packet is larger than the client accepts.
func (s *session) append(x *sub, tag string, p *wire.PublishPacket) bool {
	if s.tooLarge(x, tag, p) {
		s.server.counters.dropped.Add(1)
		return false
	}
	var buf [128]byte
	p.Topic = append(buf[:0], tag...)
	if s.peer.version == wire.V5 {
		s.address(x, tag, p)
	} else {
		p.Properties = nil
	}
	out := s.room(wire.PublishSize(s.peer.version, p) + maxHeader)
	out.B, _ = wire.AppendPublish(out.B, s.peer.version, p) // the topic is a tag: it is not too long
	return true
}

// address adds the properties that are for this client: the Subscription Identifier and, if the client accepts a packet of that size, the
// Topic Alias.
func (s *session) address(x *sub, tag string, p *wire.PublishPacket) {
	if x.id == 0 && s.peer.aliasMax == 0 {
		return
	}
	p.Properties = withIdentifier(p.Properties, x.id)
	if s.peer.aliasMax == 0 || !fits(wire.PublishSize(s.peer.version, p)+aliasSize, s.peer.maxPacket) {
		return
	}
	alias, known := s.alias(tag)
	if alias > 0 {
		p.Properties = wire.AppendUint(p.Properties, wire.TopicAlias, uint32(alias))
	}
	if known {
		p.Topic = nil
	}
}

// maxAliases bounds the topic aliases of one client in each direction.
const maxAliases = 16

// alias returns the topic alias of a tag, or 0. known says whether the client knows it.
func (s *session) alias(tag string) (alias int, known bool) {
	s.needExchange()
	for i, t := range s.aliases {
		if t == tag {
			return i + 1, true
		}
	}
	if len(s.aliases) < min(int(s.peer.aliasMax), maxAliases) {
		s.aliases = append(s.aliases, tag)
		return len(s.aliases), false
	}
	return 0, false
}

// copyOf returns a PUBLISH for the next connections of the session, in version 5 and without an alias.
func (s *session) copyOf(x *sub, tag string, p *wire.PublishPacket) *bufpool.Buf {
	again := *p
	again.Topic, again.Dup = []byte(tag), true
	if x.id > 0 {
		again.Properties = withIdentifier(p.Properties, x.id)
	}
	b := bufpool.Get(wire.PublishSize(wire.V5, &again) + maxHeader)
	b.B, _ = wire.AppendPublish(b.B, wire.V5, &again)
	return b
}

// dropLost drops flights that no durable has delivered again, although there was room for them. The caller holds the lock.
func (s *session) dropLost() {
	if s.flights.sent() < s.window() && !s.repeating {
		s.flights.drop(func(f *flight) bool { return !f.sent && f.packet == nil && f.state != awaitsPubcomp })
	}
}

// resend appends what the client has not acknowledged on its last connection, in order, as far as there is room. Durables deliver their
// part again. The caller holds the lock.
func (s *session) resend() {
	s.flights.drop(func(f *flight) bool {
		large := !f.sent && f.packet != nil && !fits(len(f.packet.B), s.peer.maxPacket)
		if large {
			s.server.counters.dropped.Add(1)
		}
		return large
	})
	sent := s.flights.sent()
	for i := range s.flights.span {
		f := s.flights.at(i)
		if f.state == settled || f.sent || f.packet == nil && f.state != awaitsPubcomp {
			continue
		}
		if sent >= s.window() || s.out != nil && len(s.out.B) >= outgoingBytes {
			return
		}
		f.sent = true
		sent++
		if f.state == awaitsPubcomp {
			s.respondTo(wire.Pubrel, s.flights.id(i), wire.Success)
			continue
		}
		s.resendPacket(f.packet.B, f.expires)
	}
	s.repeating = false
}

// resendPacket appends a PUBLISH that copyOf has made. Its delivery has begun: it is repeated also if it has expired.
func (s *session) resendPacket(b []byte, expires int64) {
	packet, _, err := wire.Next(b, wire.Limits{Version: wire.V5, FromServer: true})
	if err != nil {
		return // impossible
	}
	p, err := wire.ParsePublish(packet)
	if err != nil {
		return
	}
	if s.peer.version == wire.V5 {
		p.Properties, _ = remaining(p.Properties, expires)
	} else {
		p.Properties = nil
	}
	out := s.room(wire.PublishSize(s.peer.version, &p) + maxHeader)
	out.B, _ = wire.AppendPublish(out.B, s.peer.version, &p)
}
