package stored

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/broker/internal/routes"
	delivery "example.com/ferry/broker/stored/internal/durable"
	"example.com/ferry/engine"
	"example.com/ferry/internal/clock"
	"example.com/ferry/internal/naming"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// Client is what package stored asks of the client of a subscription.
type Client interface {
	Names() (client, identity string)
	Log() *slog.Logger
	Context() context.Context // ends when the client does

	// Opened says that a subscription begins, or why it does not. It is called with the lock of Subs held.
	Opened(handle any, result native.ResultFrame, why error)

	// Ended says why a subscription that has begun ends.
	Ended(handle any, result native.ResultFrame, why error)
}

// Sub is one SUB of a client that reads a stream: a member of a durable, or a replay of its own.
type Sub struct {
	client      Client
	of          *Subs
	handle      any // of a client in the process, else nil
	id          uint32
	filter      string
	predicate   *routes.Predicate // nil matches every message
	window      int               // bytes that may be sent before the client returns credit
	start       engine.Start
	concurrency int // messages that the client handles at a time; 0 means any number
	stored      *Stream
	stream      *outlet.Stream // to the client

	member *member // of a durable; nil for a replay
	replay *replay // nil for a member

	announced bool  // the client has its RESULT; guarded by the lock of Subs
	revoked   error // why the subscription ended before; guarded by the lock of Subs
}

func badRequest(format string, args ...any) error {
	return &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf(format, args...)}
}

// NewSub checks what a SUB itself says. handle is that of a client in the process, else nil.
func NewSub(c Client, v native.SubFrame, handle any) (*Sub, error) {
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
	case v.Durable != "" && !naming.Valid(v.Durable):
		return nil, badRequest("durable %q: a name has 1 to 64 letters, digits, - and _", v.Durable)
	}
	p, err := routes.ParsePredicate(v.Where)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return &Sub{
		client: c, handle: handle, id: v.ID, filter: v.Filter, predicate: p, window: int(min(v.Window, outlet.MaxCredit)),
		start: startOf(v), concurrency: int(v.Concurrency),
	}, nil
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

// announceAfter is announce after find, which gets from the engine where s begins.
func (s *Sub) announceAfter(find func() error) {
	s.stored.store.readers.Go(func() {
		if err := find(); err != nil {
			s.revoke(readError(s.stored, err))
		}
		s.announce()
		if s.stored.gone.Load() { // Retire may not have seen it
			s.revoke(streamGone(s.stored))
		}
	})
}

// beginHere makes a subscription to new messages begin behind the last one that is stored now. The cursor may be opened later, when
// the client has published more.
func (s *Sub) beginHere() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	info, err := s.stored.config().Stream.Info(ctx)
	s.start = engine.Start{At: engine.AtSequence, Sequence: info.Last + 1}
	return err
}

// storeStart makes the engine store where a new durable begins. The RESULT says that it does: even if the node ends right after it,
// the durable gets the messages that are published from then on. While the engine does not respond, the RESULT waits. The SUB of a
// client that has connected again must not fail for that reason.
func (s *Sub) storeStart() error {
	if s.member.durable.hasCursor() {
		return nil
	}
	_, owner := s.client.Names()
	cfg := engine.CursorConfig{Name: s.member.durable.name, Filter: s.filter, Where: s.predicate.String(), Start: s.start, Owner: owner}
	session := s.client.Context()
	for {
		ctx, cancel := context.WithTimeout(session, closeTimeout)
		var err error
		if s.handle == nil { // the server of clients in the process bounds their sessions
			err = s.stored.admit(ctx, cfg.Name, cfg.Owner)
		}
		if err == nil {
			err = s.stored.config().Stream.CreateCursor(ctx, cfg)
		}
		cancel()
		if err == nil || isRefusal(err) || s.of.Get(s.id) != s {
			return err
		}
		s.client.Log().Warn("the start of a durable is not stored: trying again", "stream", s.stored.name(), "durable", cfg.Name, "err", err)
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
func (s *Sub) notBehindNext() error {
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
func (s *Sub) announce() {
	result := Result(s.id)
	if s.member != nil {
		result.Value = uint32(min(s.stored.config().AckWait/time.Millisecond, math.MaxUint32))
	} else if s.start.At == engine.AtSequence {
		result.From = s.start.Sequence
	}
	s.of.mu.Lock()
	revoked := s.revoked
	if current := s.of.byID[s.id]; s.handle == nil && current != s && (revoked == nil || current != nil) {
		s.of.mu.Unlock()
		return
	}
	s.announced = true
	s.client.Opened(s.handle, result, revoked) // with the lock held: a later revoke sends a second RESULT
	s.of.mu.Unlock()
	switch {
	case revoked != nil:
	case s.member != nil:
		s.member.durable.join(s.member)
	default:
		s.replay.begin()
	}
}

// Result is the RESULT of a SUB that reads a stream.
func Result(id uint32) native.ResultFrame {
	return native.ResultFrame{Kind: native.Sub, Ref: id, Stored: true}
}

// end ends the subscription. It is called once, after s was removed from its Subs. tried says whether the client may have handled
// messages that it has neither acked nor refused.
func (s *Sub) end(tried bool) {
	if s.member != nil {
		s.member.durable.leave(s.member, tried)
		return
	}
	s.replay.stop()
}

// retire gives the client no further message. It can still ack those that it has.
func (s *Sub) retire() {
	if s.member != nil {
		s.member.retire()
		return
	}
	s.replay.stop()
}

// revoke ends the subscription because of why, which the client gets in a second RESULT of its SUB.
func (s *Sub) revoke(why error) {
	s.of.mu.Lock()
	taken, announced := s.of.byID[s.id] == s, s.announced
	if taken {
		delete(s.of.byID, s.id)
		s.revoked = why
	}
	s.of.mu.Unlock()
	if !taken {
		return
	}
	s.end(true)
	if announced { // otherwise announce sends it
		s.client.Ended(s.handle, Result(s.id), why)
	}
}

// ofDurable returns the member of a durable; nil for a replay, and for a nil Sub.
func (s *Sub) ofDurable() *member {
	if s == nil {
		return nil
	}
	return s.member
}

// AckWait returns how long the client may hold a message of a durable without Ack, Nak or Progress. It is 0 for others.
func (s *Sub) AckWait() time.Duration {
	if s.ofDurable() == nil {
		return 0
	}
	return s.stored.config().AckWait
}

// Ack says that count messages of a durable, from sequence number first, are done. Those that the client does not hold are skipped.
func (s *Sub) Ack(first uint64, count uint32) {
	now := clock.Now()
	s.ofDurable().settle(now, func(w *delivery.Window, m *delivery.Member) { w.Ack(m, first, count, now) })
}

// Nak says that the client has not handled count messages of a durable. delay is the wait before NakRetry delivers again; 0 means that
// of the stream.
func (s *Sub) Nak(first uint64, count uint32, kind NakKind, delay time.Duration, reason string) {
	now := clock.Now()
	s.ofDurable().settle(now, func(w *delivery.Window, m *delivery.Member) { w.Nak(m, first, count, kind, delay, reason, now) })
}

// Progress extends the time in which the client has to ack what it holds.
func (s *Sub) Progress() { s.ofDurable().progress(clock.Now()) }
