package mqtt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"example.com/ferry/internal/topic"
	wire "example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// How sessions subscribe: what exceeds the queue of a slow client is dropped, the oldest message first, and durables begin with the
// next message.
const (
	subscriptionPolicy = native.DropOldest
	durableStart       = native.StartNew
)

// whereProperty is the user property of SUBSCRIBE that is a predicate. Only messages for which it is true are delivered.
const whereProperty = "where"

// request is a SUBSCRIBE whose SUBACK waits until the broker says that all its subscriptions begin.
type request struct {
	id    uint16
	codes []byte
	subs  []requested
}

// requested is a subscription of a request.
type requested struct {
	index   int // in request.codes
	sub     *sub
	retain  bool // it gets retained messages
	waiting bool // for LocalHandler.Opened
}

// checkFilters returns an error for a filter that MQTT 3.1.1 does not allow: its SUBACK cannot say so, and section 4.8 has the connection closed. MQTT 5.0
// has a reason code for each filter.
func (c *conn) checkFilters(fs wire.Filters) error {
	if c.version == wire.V5 {
		return nil
	}
	for o := range fs.All() {
		if _, err := wire.ParseFilter(string(o.Filter)); err != nil {
			return &wire.Error{Code: wire.TopicFilterInvalid, Kind: wire.Subscribe, Close: true, Reason: err.Error()}
		}
	}
	return nil
}

// subscribe handles SUBSCRIBE. MQTT 5.0, section 3.8.
func (c *conn) subscribe(v *wire.SubscribePacket) {
	id, _ := v.Properties.Uint(wire.SubscriptionIdentifier)
	where := ""
	for p := range v.Properties.All() {
		if p.ID == wire.UserProperty && string(p.Name) == whereProperty {
			where = string(p.Text)
		}
	}
	r := &request{id: v.ID}
	known := c.session.named(v.Filters)
	for o := range v.Filters.All() {
		code := wire.ReasonCode(o.QoS)
		q, err := requested{}, errTooManyFilters
		if len(r.codes) < maxFilters {
			q, err = c.subscribeOne(&o, id, where, known)
		}
		if err != nil {
			c.ls.server.cfg.Log.Debug("mqtt: subscription refused", "client", c.session.clientID(), "identity", c.session.identity(), "filter", string(o.Filter), "err", err)
			code = subscribeCode(err)
		} else {
			q.index = len(r.codes)
			r.subs = append(r.subs, q)
		}
		r.codes = append(r.codes, byte(code))
	}
	c.request = r
	c.finishRequest()
}

// maxFilters bounds the subscriptions that one SUBSCRIBE makes: a packet must not keep the loop from its other connections.
const maxFilters = 1024

var errTooManyFilters error = &wire.Error{Code: wire.QuotaExceeded, Reason: "a SUBSCRIBE has at most 1024 filters"}

// named returns the subscriptions that the first maxFilters filters name: a packet may have many filters, and a session many subscriptions.
func (s *session) named(filters wire.Filters) map[string]*sub {
	known := map[string]*sub{}
	for o := range filters.All() {
		if known[string(o.Filter)] = nil; len(known) == maxFilters {
			break
		}
	}
	for x := s.subs; x != nil; x = x.next {
		if _, named := known[x.filter]; named {
			known[x.filter] = x
		}
	}
	return known
}

// subscribeOne makes or replaces a subscription, also in known. The error says why it is refused.
func (c *conn) subscribeOne(o *wire.Subscription, id uint32, where string, known map[string]*sub) (q requested, err error) {
	s := c.session
	filter := string(o.Filter)
	parsed, err := wire.ParseFilter(filter)
	if err != nil {
		return q, err
	}
	if err := topic.CheckFilter(parsed.Filter); err != nil {
		return q, &wire.Error{Code: wire.TopicFilterInvalid, Reason: err.Error()}
	}
	stream, stored := c.ls.server.cfg.Broker.AtLeastOnce(parsed.Filter)
	durable := stored && o.QoS > 0 && parsed.Group == "" && s.lifetime > 0 && c.ls.server.cfg.Cursors != nil
	x := known[filter]
	q.retain = parsed.Group == "" && where == "" && (o.RetainHandling == 0 || o.RetainHandling == 1 && x == nil)
	if x != nil && x.local != nil && (x.durable.Name != "") == durable && x.stored == stored && x.where == where {
		s.mu.Lock()
		s.setOptions(x, o, id)
		s.mu.Unlock()
		q.sub, q.waiting = x, !x.opened && durable
		return q, nil
	}
	if durable && c.ls.server.crowded() {
		return q, &wire.Error{Code: wire.QuotaExceeded, Reason: "too many subscriptions of sessions wait for their end"}
	}
	if x != nil {
		c.end(x)
		delete(known, filter)
	}
	x = &sub{filter: filter, tags: parsed.Filter, group: parsed.Group, where: where, stored: stored}
	if durable {
		x.durable = Cursor{Stream: stream, Name: c.ls.server.durableName(s, filter)}
	}
	s.mu.Lock()
	s.setOptions(x, o, id)
	s.addSub(x)
	s.mu.Unlock()
	if err := c.subscribeHop(x); err != nil {
		s.mu.Lock()
		s.removeSub(x)
		s.mu.Unlock()
		return q, err
	}
	known[filter] = x
	q.sub, q.waiting = x, durable
	return q, nil
}

// setOptions sets the options of a subscription. The caller holds the lock.
func (s *session) setOptions(x *sub, o *wire.Subscription, id uint32) {
	if x.noLocal != o.NoLocal {
		if x.noLocal = o.NoLocal; o.NoLocal {
			s.noLocal++
		} else {
			s.noLocal--
		}
	}
	x.qos, x.retainAsPublished, x.id = o.QoS, o.RetainAsPublished, id
	s.changed()
}

// durableName returns a name for the durable of a subscription. It is a new one each time: one that was used before may still have to
// be removed.
func (v *Server) durableName(s *session, filter string) string {
	var n [16]byte
	binary.BigEndian.PutUint64(n[:], s.number)
	binary.BigEndian.PutUint64(n[8:], number())
	sum := sha256.Sum256(append(n[:], filter...))
	return v.durablePrefix() + hex.EncodeToString(sum[:16])
}

// finishRequest sends SUBACK if all subscriptions of the request begin, or have failed. Messages follow: first the retained ones.
func (c *conn) finishRequest() {
	s, r := c.session, c.request
	s.mu.Lock()
	for _, q := range r.subs {
		if q.waiting && !q.sub.opened {
			s.mu.Unlock()
			return
		}
	}
	c.request = nil
	var failed []*sub
	for i := range r.subs {
		q := &r.subs[i]
		if q.sub.failure != nil {
			r.codes[q.index] = byte(subscribeCode(q.sub.failure))
			if !q.sub.removed {
				s.removeSub(q.sub)
				failed = append(failed, q.sub)
			}
		}
	}
	suback := wire.SubackPacket{Kind: wire.Suback, ID: r.id, Codes: r.codes}
	out := s.room(len(r.codes) + maxHeader + maxAck)
	out.B = wire.AppendSuback(out.B, c.version, &suback)
	s.changed()
	s.mu.Unlock()
	for _, x := range failed {
		c.ls.server.removeDurable(x.durable)
	}
	s.mu.Lock()
	for _, q := range r.subs {
		if q.retain && !q.sub.removed {
			s.walkRetained(q.sub)
		}
		q.sub.ready = true
	}
	s.mu.Unlock()
	s.wake()
}

// unsubscribe handles UNSUBSCRIBE. MQTT 5.0, section 3.10.
func (c *conn) unsubscribe(v *wire.UnsubscribePacket) {
	s := c.session
	subs := map[string]*sub{} // a packet may have many filters
	for x := s.subs; x != nil; x = x.next {
		subs[x.filter] = x
	}
	var codes []byte
	for filter := range v.Topics.All() {
		code := wire.NoSubscriptionExisted
		if x := subs[string(filter)]; x != nil {
			delete(subs, x.filter)
			c.end(x)
			code = wire.Success
		}
		codes = append(codes, byte(code))
	}
	s.mu.Lock()
	out := s.room(len(codes) + maxHeader + maxAck)
	out.B = wire.AppendSuback(out.B, c.version, &wire.SubackPacket{Kind: wire.Unsuback, ID: v.ID, Codes: codes})
	s.mu.Unlock()
}

// end ends a subscription, and its durable.
func (c *conn) end(x *sub) {
	s := c.session
	if x.local != nil {
		x.local.Close(false)
		x.local = nil
	}
	s.mu.Lock()
	s.removeSub(x)
	s.changed()
	s.mu.Unlock()
	c.ls.server.removeDurable(x.durable)
}

// subscribeCode returns the reason code of SUBACK for an error.
func subscribeCode(err error) wire.ReasonCode {
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
	case native.CodeLimit:
		return wire.QuotaExceeded
	case native.CodeBadRequest:
		return wire.TopicFilterInvalid
	}
	return wire.ImplementationSpecificError
}
