package broker

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/engine"
	"example.com/ferry/field"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// storedSub is one SUB of a session that reads a stream: a member of a durable, or a replay of its own.
type storedSub struct {
	session     *session
	local       *LocalSub // of a client in the process, else nil
	id          uint32
	filter      string
	predicate   *predicate // nil matches every message
	window      int        // bytes that may be sent before the client returns credit
	start       engine.Start
	concurrency int // messages that the client handles at a time; 0 means any number
	stored      *storedStream
	stream      *outlet.Stream // to the client

	member *member // of a durable; nil for a replay
	replay *replay // nil for a member

	announced bool  // the client has its RESULT; guarded by the lock of session
	revoked   error // why the subscription ended before; guarded by the lock of session
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
	if err := s.beginStored(v, nil); err != nil {
		s.Result(storedResult(v.ID), err)
	}
}

func storedResult(id uint32) native.ResultFrame {
	return native.ResultFrame{Kind: native.Sub, Ref: id, Stored: true}
}

// beginStored adds a subscription that reads a stream, and announces it. The error is the reason of a refusal. local is the handle of
// the subscription, if the client is in the process.
func (s *session) beginStored(v native.SubFrame, local *LocalSub) error {
	sub, err := s.newStoredSub(v)
	if err != nil {
		return err
	}
	if sub.local = local; local != nil {
		local.stored = sub
	}
	if err := s.broker.addStored(sub, v.Durable); err != nil {
		return err
	}
	result := storedResult(v.ID)
	switch {
	case sub.member != nil:
		s.announceAfter(sub, result, sub.storeStart)
	case sub.start.At == engine.AtNew:
		s.announceAfter(sub, result, sub.beginHere)
	case sub.start.At == engine.AtSequence:
		s.announceAfter(sub, result, sub.notBehindNext)
	default:
		s.announce(sub, result)
	}
	return nil
}

// announceAfter is announce after find, which gets from the engine where sub begins.
func (s *session) announceAfter(sub *storedSub, result native.ResultFrame, find func() error) {
	s.broker.readers.Add(1)
	go func() {
		defer s.broker.readers.Done()
		if err := find(); err != nil {
			sub.revoke(readError(sub.stored, err))
		}
		s.announce(sub, result)
		if sub.stored.gone.Load() { // retire may not have seen it
			sub.revoke(streamGone(sub.stored))
		}
	}()
}

// beginHere makes a subscription to new messages begin behind the last one that is stored now. The cursor may be opened later, when
// the client has published more.
func (s *storedSub) beginHere() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	info, err := s.stored.config().Stream.Info(ctx)
	s.start = engine.Start{At: engine.AtSequence, Sequence: info.Last + 1}
	return err
}

// storeStart makes the engine store where a new durable begins. The RESULT says that it does: even if the node ends right after it,
// the durable gets the messages that are published from then on. While the engine does not respond, the RESULT waits. The SUB of a
// client that has connected again must not fail for that reason.
func (s *storedSub) storeStart() error {
	if s.member.durable.hasCursor() {
		return nil
	}
	cfg := engine.CursorConfig{
		Name: s.member.durable.name, Filter: s.filter, Where: s.where(), Start: s.start, Owner: s.session.identity.Load().Name,
	}
	session := s.session.client.context()
	for {
		ctx, cancel := context.WithTimeout(session, closeTimeout)
		var err error
		if s.local == nil { // the server of clients in the process bounds their sessions
			err = s.stored.admit(ctx, cfg.Name, cfg.Owner)
		}
		if err == nil {
			err = s.stored.config().Stream.CreateCursor(ctx, cfg)
		}
		cancel()
		if err == nil || isRefusal(err) || s.session.storedSub(s.id) != s {
			return err
		}
		s.session.log.Warn("the start of a durable is not stored: trying again", "stream", s.stored.name(), "durable", cfg.Name, "err", err)
		select {
		case <-time.After(reopenAfter):
		case <-session.Done():
			return err
		}
	}
}

// notBehindNext makes a subscription begin with the next message at the latest. A client continues after the last message that it has
// received. If the stream has begun again, or has lost its end, that number is ahead of the stream, and the client would miss the
// messages before it. If the engine does not say where the stream ends, the subscription begins with the client's number.
func (s *storedSub) notBehindNext() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if info, err := s.stored.config().Stream.Info(ctx); err == nil {
		s.start.Sequence = min(s.start.Sequence, info.Last+1)
	}
	return nil
}

// announce sends the RESULT of a SUB and begins to deliver. If the subscription was revoked meanwhile, the RESULT says why. If the client
// has ended it meanwhile, there is no RESULT: a later SUB may have the id. A client in the process knows its subscriptions by their
// handles, and is told that the durable exists.
func (s *session) announce(sub *storedSub, result native.ResultFrame) {
	if sub.member != nil {
		result.Value = uint32(min(sub.stored.config().AckWait/time.Millisecond, math.MaxUint32))
	}
	s.mu.Lock()
	revoked := sub.revoked
	if current := s.stored[sub.id]; sub.local == nil && current != sub && (revoked == nil || current != nil) {
		s.mu.Unlock()
		return
	}
	sub.announced = true
	s.client.opened(sub, result, revoked) // with the lock held: a later revoke sends a second RESULT
	s.mu.Unlock()
	switch {
	case revoked != nil:
	case sub.member != nil:
		sub.member.durable.join(sub.member)
	default:
		sub.replay.begin()
	}
}

func badRequest(format string, args ...any) error {
	return &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf(format, args...)}
}

// newStoredSub checks what the SUB itself says.
func (s *session) newStoredSub(v native.SubFrame) (*storedSub, error) {
	if err := topic.CheckFilter(v.Filter); err != nil {
		return nil, badRequest("%v", err)
	}
	switch {
	case v.Window == 0:
		return nil, badRequest("a window of 0 bytes: nothing could ever be delivered")
	case v.Group != "":
		return nil, badRequest("group %q with a subscription that reads a stream: name a durable instead, whose members share the messages", v.Group)
	case v.Addressed:
		return nil, badRequest("addressed messages are not stored: subscribe to them live")
	case v.Durable != "" && !durableName.MatchString(v.Durable):
		return nil, badRequest("durable %q: a name has 1 to 64 letters, digits, - and _", v.Durable)
	}
	sub := &storedSub{session: s, id: v.ID, filter: v.Filter, window: int(min(v.Window, outlet.MaxCredit)), start: startOf(v), concurrency: int(v.Concurrency)}
	if v.Where != "" {
		parsed, err := field.ParsePredicate(v.Where)
		if err != nil {
			return nil, badRequest("%v", err)
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
	if b.sessions[s.id] != s || b.draining {
		return &native.Error{Code: native.CodeDraining, Reason: "the connection is being closed"}
	}
	if identity := s.identity.Load(); !covers(identity.Subscribe, sub.filter) {
		return forbidden(identity, "subscribe to", sub.filter)
	}
	st, err := b.tags.streams.covering(sub.filter)
	if err != nil {
		return badRequest("%v", err)
	}
	sub.stored = st
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.subs[sub.id] != nil || s.stored[sub.id] != nil:
		return badRequest("subscription %d exists already", sub.id)
	case len(s.subs)+len(s.stored) >= s.cfg.MaxSubs:
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("more than %d subscriptions on one connection", s.cfg.MaxSubs)}
	}
	sub.stream = s.streamFor(sub.id)
	if durable == "" {
		sub.replay = newReplay(sub)
	} else if sub.member, err = st.addMember(b, sub, durable); err != nil {
		return err
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
	taken, announced := s.session.takeStored(s, why)
	if !taken {
		return
	}
	s.end(true)
	if announced { // otherwise announce sends it
		s.session.client.ended(s.local, storedResult(s.id), why)
	}
}

// takeStored removes sub from the session because of why. taken is false if it is no part of the session any more. announced says
// whether its client has the RESULT.
func (s *session) takeStored(sub *storedSub, why error) (taken, announced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored[sub.id] != sub {
		return false, false
	}
	delete(s.stored, sub.id)
	sub.revoked = why
	return true, sub.announced
}

// drain tells the client that this end is stopping.
func (s *session) drain(reason string) {
	s.client.drain(reason)
	s.retireStored()
}

// retireStored gives the client no further message of a stream. It can still ack those that it has.
func (s *session) retireStored() {
	s.mu.Lock()
	subs := slices.Collect(maps.Values(s.stored))
	s.mu.Unlock()
	for _, sub := range subs {
		if sub.member != nil {
			sub.member.retire()
		} else {
			sub.replay.stop()
		}
	}
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
		return sub.member.ack(v, r.elapsed)
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
		return sub.member.nak(v, r.elapsed)
	}
	return nil
}
