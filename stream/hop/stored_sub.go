package hop

import (
	"fmt"
	"regexp"
	"time"

	"example.com/ferry/field"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream/engine"
)

// storedSub is one SUB of a session that reads a stream: a member of a durable, or a replay of its own.
type storedSub struct {
	session   *session
	id        uint32
	filter    string
	predicate *predicate // nil matches every message
	window    int        // bytes that may be sent before the client returns credit
	start     engine.Start
	stored    *storedStream
	stream    *subscriberStream // to the client

	member *member // of a durable; nil for a replay
	replay *replay // nil for a member
}

func (s *storedSub) where() string {
	if s.predicate == nil {
		return ""
	}
	return s.predicate.String()
}

// durableName is what names of durables look like: they are names of cursors.
var durableName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// subscribeStored handles a SUB that reads a stream. The RESULT goes before the first message.
func (s *session) subscribeStored(v native.SubFrame) {
	result := native.ResultFrame{Kind: native.Sub, Ref: v.ID, Stored: true}
	sub, err := s.newStoredSub(v)
	if err == nil {
		err = s.broker.addStored(sub, v.Durable)
	}
	if err != nil {
		s.respond(result, err)
		return
	}
	if sub.member != nil {
		result.Value = uint32(sub.stored.config().AckWait / time.Millisecond)
	}
	s.respond(result, nil)
	if sub.member != nil {
		sub.member.durable.join(sub.member)
	} else {
		sub.replay.begin()
	}
}

// newStoredSub checks what the SUB itself says.
func (s *session) newStoredSub(v native.SubFrame) (*storedSub, error) {
	refuse := func(format string, args ...any) error {
		return &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf(format, args...)}
	}
	if err := topic.CheckFilter(v.Filter); err != nil {
		return nil, refuse("%v", err)
	}
	switch {
	case v.Window == 0:
		return nil, refuse("a window of 0 bytes: nothing could ever be delivered")
	case v.Group != "":
		return nil, refuse("group %q with a subscription that reads a stream: name a durable instead, whose members share the messages", v.Group)
	case v.Addressed:
		return nil, refuse("addressed messages are not stored: subscribe to them live")
	case v.Durable != "" && !durableName.MatchString(v.Durable):
		return nil, refuse("durable %q: a name has 1 to 64 letters, digits, - and _", v.Durable)
	}
	sub := &storedSub{session: s, id: v.ID, filter: v.Filter, window: int(min(v.Window, maxCredit)), start: startOf(v)}
	if v.Where != "" {
		parsed, err := field.ParsePredicate(v.Where)
		if err != nil {
			return nil, refuse("%v", err)
		}
		sub.predicate = &predicate{Predicate: parsed}
	}
	return sub, nil
}

func startOf(v native.SubFrame) engine.Start {
	switch v.Start {
	case native.StartFirst:
		return engine.Start{At: engine.AtFirst}
	case native.StartSequence:
		return engine.Start{At: engine.AtSequence, Sequence: v.Value}
	case native.StartTime:
		return engine.Start{At: engine.AtTime, Time: int64(v.Value)}
	}
	return engine.Start{At: engine.AtNew}
}

// addStored adds sub to its session, and to the stream or the durable that it reads. After removeSession it returns an error, because
// nothing would remove sub again.
func (b *Broker) addStored(sub *storedSub, durable string) error {
	s := sub.session
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions[s.id] != s {
		return &native.Error{Code: native.CodeDraining, Reason: "the connection is being closed"}
	}
	if identity := s.identity.Load(); !covers(identity.Subscribe, sub.filter) {
		return forbidden(identity, "subscribe to", sub.filter)
	}
	st, err := b.tags.streams.covering(sub.filter)
	if err != nil {
		return &native.Error{Code: native.CodeBadRequest, Reason: err.Error()}
	}
	sub.stored = st
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.subs[sub.id] != nil || s.stored[sub.id] != nil:
		return &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf("subscription %d exists already", sub.id)}
	case len(s.subs)+len(s.stored) >= s.cfg.MaxSubs:
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("more than %d subscriptions on one connection", s.cfg.MaxSubs)}
	}
	sub.stream = s.streamFor(sub.id)
	if durable == "" {
		sub.replay = newReplay(sub)
	} else if sub.member, err = st.addMember(b, sub, durable); err != nil {
		return &native.Error{Code: native.CodeBadRequest, Reason: err.Error()}
	}
	if s.stored == nil {
		s.stored = map[uint32]*storedSub{}
	}
	s.stored[sub.id] = sub
	return nil
}

// addCredit allows n more bytes.
func (s *storedSub) addCredit(n int) {
	if s.member != nil {
		s.member.addCredit(n)
		return
	}
	s.replay.addCredit(n)
}

// end ends the subscription. It is called once, after sub was removed from its session. tried says whether the client may have handled
// messages that it has neither acked nor refused.
func (s *storedSub) end(tried bool) {
	if s.member != nil {
		s.member.durable.leave(s.member, tried)
		return
	}
	s.replay.stop()
}

// revoke ends the subscription because of why, which the client gets in a second RESULT of its SUB.
func (s *storedSub) revoke(why error) {
	if s.session.takeStored(s) {
		s.end(true)
		s.session.respond(native.ResultFrame{Kind: native.Sub, Ref: s.id, Stored: true}, why)
	}
}

// takeStored removes sub from the session. It returns false if it is no part of it any more.
func (s *session) takeStored(sub *storedSub) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored[sub.id] != sub {
		return false
	}
	delete(s.stored, sub.id)
	return true
}

// storedSub returns the stored subscription with an id, or nil.
func (s *session) storedSub(id uint32) *storedSub {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored[id]
}

// maxSettled bounds the records that one ACK or NAK makes the broker look at.
const maxSettled = 1 << 20

// ack handles an ACK.
func (r *receiver) ack(f native.Frame) error {
	v, err := native.ParseAck(f)
	if err != nil {
		return err
	}
	if sub := r.session.storedSub(v.Sub); sub != nil && sub.member != nil {
		return sub.member.ack(v, r.now)
	}
	return nil // the subscription has ended, or is a replay
}

// nak handles a NAK.
func (r *receiver) nak(f native.Frame) error {
	v, err := native.ParseNak(f)
	if err != nil {
		return err
	}
	if sub := r.session.storedSub(v.Sub); sub != nil && sub.member != nil {
		return sub.member.nak(v, r.now)
	}
	return nil
}
