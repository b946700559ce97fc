package mqtt

import (
	"errors"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/internal/mqttmessage"
	"example.com/ferry/internal/topic"
	wire "example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// maxRun is the most messages that are published together.
const maxRun = 64

// run is messages of one connection on one topic that are published together: either all have QoS 0, or none. A loop has one.
type run struct {
	conn      *conn
	begun     bool // Batch.Begin was called
	topic     *topicGrant
	messages  []broker.Message
	packets   []runPacket
	extension []byte // of the messages
	refused   bool   // a message was refused
	blockedAt int    // offset of the first packet that has to wait; -1 if there is none
}

// runPacket is what a PUBLISH says beside its message.
type runPacket struct {
	id        uint16
	qos       byte
	guessed   bool // nothing declares the type of the payload
	from, end int  // offsets in what Data was given
}

// open begins a call of Data.
func (r *run) open(c *conn) { r.conn, r.blockedAt = c, -1 }

// close ends a call of Data that has handled n bytes. It returns how many bytes are done.
func (r *run) close(n int) int {
	if r.begun {
		r.begun = false
		r.conn.ls.batch.End()
	}
	if r.blockedAt >= 0 {
		n = r.blockedAt
	}
	r.conn = nil
	return n
}

// empty forgets the messages, which are views of what Data was given.
func (r *run) empty() {
	clear(r.messages)
	r.topic, r.messages, r.packets, r.extension = nil, r.messages[:0], r.packets[:0], r.extension[:0]
}

// receive handles a PUBLISH that ends at offset end: it adds the message to the run. The error ends the connection.
func (c *conn) receive(packet wire.Packet, end int) error {
	p, err := wire.ParsePublish(packet)
	if err != nil {
		return err
	}
	r := &c.ls.run
	e := mqttmessage.Entry{Known: true, QoS: p.QoS, Retain: p.Retain}
	if len(r.messages) > 0 && c.changesAlias(&p) && !c.publishRun() {
		return nil
	}
	t, err := c.topicOf(&p)
	if err == nil && len(p.Properties) > 0 {
		if e.Properties = mqttmessage.Kept(nil, p.Properties); len(e.Properties) > mqttmessage.MaxProperties {
			err = errTooManyProperties
		}
	}
	if err != nil {
		var e *wire.Error
		if errors.As(err, &e) && e.Close {
			return err
		}
		if !c.publishRun() {
			return nil
		}
		c.refuseMessage(&p, publishCode(err), err)
		return nil
	}
	if len(r.messages) == maxRun || len(r.messages) > 0 && (r.topic != t || p.Retain || (r.packets[0].qos > 0) != (p.QoS > 0)) {
		if !c.publishRun() {
			return nil
		}
	}
	repeated, err := c.admit(&p)
	if repeated || err != nil {
		return err
	}
	if c.session.noLocal > 0 {
		e.Publisher = c.session.number
	}
	contentType, _ := e.Properties.Text(wire.ContentType)
	m := broker.Message{Payload: p.Payload}
	k := runPacket{id: p.ID, qos: p.QoS, from: end - packet.Size, end: end}
	m.Type, k.guessed = mqttmessage.TypeOf(contentType, p.Payload)
	if t.needsEntry(&e) {
		before := len(r.extension)
		r.extension = mqttmessage.AppendEntry(r.extension, e)
		m.Extension = r.extension[before:len(r.extension):len(r.extension)]
	}
	r.topic = t
	r.messages, r.packets = append(r.messages, m), append(r.packets, k)
	if p.Retain {
		c.publishRetained(&e)
	}
	return nil
}

var errTooManyProperties = &native.Error{Code: native.CodeTooLarge, Reason: "the properties of a message have at most 800 bytes"}

// needsEntry reports whether receivers need e: without it, they take a message for one with QoS 0, or, if a stream stores it at least
// once, for one of any QoS.
func (t *topicGrant) needsEntry(e *mqttmessage.Entry) bool {
	return e.QoS > 0 || e.Retain || e.Publisher != 0 || len(e.Properties) > 0 || t.grant.AtLeastOnce()
}

// admit checks the packet identifier of a message: MQTT 5.0, sections 3.3.4 and 4.3.3. repeated says that the message has arrived before.
func (c *conn) admit(p *wire.PublishPacket) (repeated bool, err error) {
	if p.QoS == 0 {
		return false, nil
	}
	s := c.session
	limit := c.ls.server.cfg.MaxInFlight
	s.mu.Lock()
	defer s.mu.Unlock()
	s.needExchange()
	if p.QoS == 2 {
		if state, ok := s.received[p.ID]; ok {
			switch state {
			case receivedStored:
				out := s.room(maxAck)
				out.B = wire.AppendAck(out.B, c.version, wire.AckPacket{Kind: wire.Pubrec, ID: p.ID})
			case receivedPending:
				s.received[p.ID] = receivedRepeated // PUBREC follows when the message is stored
			}
			return true, nil
		}
	}
	if c.version == wire.V5 && s.pending.unacknowledged()+len(c.ls.run.packets) >= limit || len(s.received) >= 2*limit {
		return false, &wire.Error{Code: wire.ReceiveMaximumExceeded, Kind: wire.Publish, Close: true, Reason: "too many messages were not acknowledged yet"}
	}
	if p.QoS == 2 {
		if s.received == nil {
			s.received = map[uint16]receivedState{}
		}
		s.received[p.ID] = receivedPending
	}
	return false, nil
}

// forgetReceived undoes admit.
func (c *conn) forgetReceived(id uint16, qos byte) {
	if qos == 2 {
		c.session.mu.Lock()
		delete(c.session.received, id)
		c.session.mu.Unlock()
	}
}

// publishRetained publishes the only message of the run, which is the retained one of its topic from now on. It is kept before it is
// routed: a subscriber that comes in between gets it once or twice, but not an older one only.
func (c *conn) publishRetained(e *mqttmessage.Entry) {
	r := &c.ls.run
	store := &c.ls.server.retained
	kept := newRetained(c.session.key, r.topic.name, e, r.messages[0].Payload)
	before, ok := store.set(kept, c.ls.server.identityShare())
	if !ok {
		k := r.packets[0]
		c.forgetReceived(k.id, k.qos)
		r.empty()
		c.refuseMessage(&wire.PublishPacket{QoS: k.qos, ID: k.id}, wire.QuotaExceeded, errRetainedFull)
		return
	}
	r.refused = false
	if !c.publishRun() || r.refused {
		store.restore(kept, before)
	}
}

var errRetainedFull = &native.Error{Code: native.CodeLimit, Reason: "the server has as many retained messages as it may, or the identity as many as one identity may"}

// publishRun publishes the messages of the run. It returns false if the topic has no credit for all of them: the connection is blocked
// then, and those that are left are read again.
func (c *conn) publishRun() bool {
	r := &c.ls.run
	if c.blocked() {
		return false
	}
	if len(r.messages) == 0 {
		return true
	}
	defer r.empty()
	if !r.begun {
		r.begun = true
		c.ls.batch.Begin()
	}
	for done := 0; done < len(r.messages); {
		conf := c.confirmation()
		var stored func(error)
		if r.packets[done].qos > 0 {
			stored = conf.call
		}
		n, err := c.ls.batch.Publish(r.topic.grant, r.messages[done:], stored)
		if n > 0 {
			if c.count(r.packets[done : done+n]); stored != nil {
				c.accepted(r.packets[done:done+n], conf)
			}
			done += n
		}
		switch {
		case err != nil && done < len(r.messages):
			if r.packets[done].guessed && invalid(err) && r.messages[done].Type != ferry.Raw {
				r.messages[done].Type = ferry.Raw // it only looks like JSON
				continue
			}
			k := r.packets[done]
			c.forgetReceived(k.id, k.qos)
			c.refuseMessage(&wire.PublishPacket{QoS: k.qos, ID: k.id}, publishCode(err), err)
			r.refused = true
			done++
		case done < len(r.messages):
			c.topics.blocked = r.topic
			r.blockedAt = r.packets[done].from
			for _, k := range r.packets[done:] {
				c.forgetReceived(k.id, k.qos)
			}
			return false
		}
	}
	return true
}

func invalid(err error) bool {
	var e *native.Error
	return errors.As(err, &e) && e.Code == native.CodeInvalid
}

// confirmation returns the confirmation for the next messages.
func (c *conn) confirmation() *confirmation {
	if c.ls.conf == nil {
		c.ls.conf = newConfirmation()
	}
	return c.ls.conf
}

// count counts messages that the broker has taken.
func (c *conn) count(packets []runPacket) {
	var n [3]uint64
	for _, k := range packets {
		n[k.qos]++
	}
	for qos, n := range n {
		if n > 0 {
			c.ls.server.counters.received[qos].Add(n)
		}
	}
}

// accepted notes that the broker has taken messages. conf is told, or was told already, when they are stored.
func (c *conn) accepted(packets []runPacket, conf *confirmation) {
	s := c.session
	s.mu.Lock()
	conf.session, conf.first = s, s.pending.first+uint64(len(s.pending.list))
	for _, k := range packets {
		s.pending.list = append(s.pending.list, pendingPublish{id: k.id, qos: k.qos})
	}
	conf.count = len(packets)
	c.pendingFull = len(s.pending.list) >= s.server.cfg.MaxInFlight
	s.mu.Unlock()
	if conf.state.CompareAndSwap(confirmationOpen, confirmationArmed) {
		c.ls.conf = nil // stored still comes
		return
	}
	s.resolve(conf.first, conf.count, conf.err)
	conf.session, conf.err = nil, nil
	conf.state.Store(confirmationOpen)
}

// refuseMessage responds to a message that is refused, in the order of the messages. MQTT 3.1.1 has no response that refuses: the
// message counts as handled, as its section 3.3.5 allows. A message with QoS 0 has no response.
func (c *conn) refuseMessage(p *wire.PublishPacket, code wire.ReasonCode, err error) {
	c.ls.server.counters.refused.Add(1)
	if !c.refused { // further ones of the connection are not logged
		c.refused = true
		c.ls.listener.MessageRefused(c.session.identity(), c.session.clientID(), edge.Remote(c.conn), err)
	}
	if p.QoS == 0 {
		return
	}
	s := c.session
	s.mu.Lock()
	s.needExchange()
	s.pending.list = append(s.pending.list, pendingPublish{id: p.ID, qos: p.QoS, done: true, code: code})
	s.respondInOrder()
	s.mu.Unlock()
}

// publishCode returns the reason code of PUBACK and PUBREC for an error of the broker.
func publishCode(err error) wire.ReasonCode {
	var w *wire.Error
	if errors.As(err, &w) {
		return w.Code
	}
	var e *native.Error
	if !errors.As(err, &e) {
		return wire.UnspecifiedError
	}
	switch e.Code {
	case native.CodeForbidden:
		return wire.NotAuthorized
	case native.CodeInvalid:
		return wire.PayloadFormatInvalid
	case native.CodeLimit, native.CodeTooLarge:
		return wire.QuotaExceeded
	case native.CodeBadRequest:
		return wire.TopicNameInvalid
	}
	return wire.ImplementationSpecificError
}

// topics is what a connection keeps of the topics on which its client publishes.
type topics struct {
	grants  []*topicGrant // the last used one first
	aliases []string      // topics by topic alias - 1
	blocked *topicGrant   // has no credit for the next message; nil if there is none
}

// maxTopics is the most grants to publish that a connection keeps. The one that was not used for longest makes room for another.
const maxTopics = 256

// topicGrant is the grant of a connection to publish on a topic.
type topicGrant struct {
	name  string
	grant *broker.LocalTag
}

// changesAlias reports whether p makes a topic alias stand for another topic. Messages of the run that have to wait are read again: they
// need the former topic, so the run is published before.
func (c *conn) changesAlias(p *wire.PublishPacket) bool {
	if len(p.Properties) == 0 || len(p.Topic) == 0 {
		return false
	}
	alias, _ := p.Properties.Uint(wire.TopicAlias)
	known := c.topics.aliases
	return alias > 0 && int64(alias) <= int64(len(known)) && known[alias-1] != "" && known[alias-1] != string(p.Topic)
}

// topicOf returns the grant for the topic of a message, and keeps its alias: MQTT 5.0, section 3.3.2.3.4.
func (c *conn) topicOf(p *wire.PublishPacket) (t *topicGrant, err error) {
	alias := uint32(0)
	if len(p.Properties) > 0 {
		alias, _ = p.Properties.Uint(wire.TopicAlias)
	}
	if alias > maxAliases {
		return nil, &wire.Error{Code: wire.TopicAliasInvalid, Kind: wire.Publish, Close: true, Reason: "the topic alias is above the maximum in CONNACK"}
	}
	if c.topics == nil {
		c.topics = &topics{}
	}
	k := c.topics
	switch {
	case len(p.Topic) > 0 && alias > 0:
		if int(alias) > len(k.aliases) {
			k.aliases = append(k.aliases, make([]string, int(alias)-len(k.aliases))...)
		}
		if k.aliases[alias-1] != string(p.Topic) {
			k.aliases[alias-1] = string(p.Topic)
		}
	case len(p.Topic) > 0:
	case int(alias) > len(k.aliases) || k.aliases[alias-1] == "":
		return nil, &wire.Error{Code: wire.ProtocolError, Kind: wire.Publish, Close: true, Reason: "the topic alias stands for no topic"}
	default:
		return grant(c, k.aliases[alias-1])
	}
	return grant(c, p.Topic)
}

// grant returns the grant for a topic, which it moves to the front of the list.
func grant[T string | []byte](c *conn, name T) (*topicGrant, error) {
	k := c.topics
	for i, t := range k.grants {
		if string(name) == t.name {
			if i > 0 {
				copy(k.grants[1:i+1], k.grants[:i])
				k.grants[0] = t
			}
			return t, nil
		}
	}
	if err := topic.CheckTag(string(name)); err != nil {
		return nil, &native.Error{Code: native.CodeBadRequest, Reason: err.Error()}
	}
	if len(k.grants) >= maxTopics {
		k.grants[len(k.grants)-1].grant.Close()
		k.grants = k.grants[:len(k.grants)-1]
	}
	made, err := c.local.Tag(string(name))
	if err != nil {
		return nil, err
	}
	t := &topicGrant{name: made.Name(), grant: made}
	k.grants = append(k.grants, nil)
	copy(k.grants[1:], k.grants)
	k.grants[0] = t
	return t, nil
}
