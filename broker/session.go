package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker/calls"
	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/broker/internal/ranks"
	"example.com/ferry/broker/stored"
	"example.com/ferry/internal/clock"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// session is one identified client.
type session struct {
	client   client
	listener *Listener
	cfg      *Config // as it was when the client connected: WELCOME told the client some of it
	id       ferry.SourceID
	ended    bool // endSession was called; guarded by the broker's lock
	placed   bool // it counts for Config.MaxConnections; guarded by the broker's lock
	addrLen  uint16
	names    string                   // the client's name, and addrLen bytes: its address, for people. One text: there may be very many clients
	since    int64                    // as clock.Now
	identity atomic.Pointer[Identity] // changed with the broker's lock held
	control  *outlet.Stream           // of a client in the process, the only one: nil until used
	*connectedState

	mu        ranks.Mutex[ranks.Session]
	published map[uint32]*publisher    // indexed by tag number
	subs      map[uint32]*subscription // indexed by id; the newest may not be part of the routes yet
	stored    stored.Subs              // those that read streams
}

// connectedState is what a session has for its connection; nil for a client in the process, of which there may be very many.
type connectedState struct {
	peer    *peer.Conn
	log     *slog.Logger
	calls   *calls.End
	notices notices

	// Guarded by the session's lock.
	data []*outlet.Stream // indexed by data stream; nil until used
	node string           // id of the client, if it is a node that forwards messages
}

func newSession(l *Listener, cfg *Config, name, addr string, identity *Identity) *session {
	s := &session{
		listener: l, cfg: cfg, control: &outlet.Stream{}, connectedState: &connectedState{log: cfg.Log},
		published: map[uint32]*publisher{}, subs: map[uint32]*subscription{},
	}
	s.is(identity, name, addr)
	return s
}

// is says who the client is. A client without a name has that of its identity.
func (s *session) is(identity *Identity, name, addr string) {
	s.identity.Store(identity)
	s.names, s.addrLen, s.since = cmp.Or(name, identity.Name)+addr, uint16(len(addr)), clock.Now()
}

func (s *session) name() string { return s.names[:len(s.names)-int(s.addrLen)] }
func (s *session) addr() string { return s.names[len(s.names)-int(s.addrLen):] }

// welcome ends the handshake on conn. The session already has its id. The caller holds the broker's lock.
func (s *session) welcome(conn *peer.Conn, limits native.CallLimits, addr string) {
	s.peer, s.client = conn, nativeClient{s}
	cfg := s.cfg
	w := native.WelcomeFrame{
		Streams: uint8(cfg.Streams), Source: uint32(s.id), MaxFrame: uint32(cfg.MaxFrame), Window: uint32(cfg.Window),
		Heartbeat: uint32(cfg.Heartbeat / time.Millisecond),
	}
	if conn.Version() >= native.CallVersion {
		w.Limits = native.CallLimits{Calls: uint32(cfg.MaxCalls), Window: uint32(cfg.CallWindow), StreamWindow: uint32(cfg.CallStreamWindow)}
	}
	if conn.Version() >= native.ForwardVersion {
		w.Node = cfg.Node
	}
	conn.Welcome(w)
	s.data = make([]*outlet.Stream, conn.Streams())
	calls.Carry(s.control)
	s.control.Attach(conn.Control())
	s.calls = s.listener.broker.calls.NewEnd(s, conn, calls.Config{Calls: cfg.MaxCalls, Window: cfg.CallWindow, Queue: cfg.CallQueue, Offers: cfg.MaxSubs}, limits)
	s.log = s.log.With(slog.Group("client", "source", uint32(s.id), "name", s.name(), "identity", s.identity.Load().Name, "addr", addr))
}

// pong sends the response to a PING.
func (s *session) pong(value uint64) { s.peer.Pong(value) }

// publisher returns the session's publish grant for a tag, or nil.
func (s *session) publisher(tag uint32) *publisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.published[tag]
}

// streamFor returns the stream that carries a tag to the client. It opens the stream if necessary. The caller holds
// s.mu.
func (s *session) streamFor(tag uint32) *outlet.Stream {
	if local, ok := s.client.(*Local); ok {
		if s.control == nil {
			s.control = &outlet.Stream{End: &local.out, Client: &local.out}
		}
		return s.control
	}
	if len(s.data) == 0 {
		return s.control
	}
	i := int(tag % uint32(len(s.data)))
	if s.data[i] == nil {
		s.data[i] = &outlet.Stream{}
		calls.Carry(s.data[i])
		s.peer.Writer(i, s.data[i].Attach)
	}
	return s.data[i]
}

// frameHandlers handles the client's frames that package peer does not handle itself.
var frameHandlers = peer.Table[*receiver]{
	native.Tag: {Handle: func(r *receiver, f native.Frame) error {
		v, err := native.ParseTag(f)
		if err != nil {
			return err
		}
		result := native.ResultFrame{Kind: native.Tag, Ref: v.Ref}
		p, err := r.session.publisherOf(v.Name)
		if err == nil {
			result.Value = p.tag.ID
			err = p.grant(result)
		}
		if err != nil {
			r.session.Result(result, err)
		}
		return nil
	}},
	native.Sub: {Handle: func(r *receiver, f native.Frame) error {
		v, err := native.ParseSub(f)
		switch {
		case err != nil:
		case v.Stored() && r.session.peer.Version() >= native.StoredVersion:
			if err := r.session.subscribeStored(v, nil); err != nil {
				r.session.Result(stored.Result(v.ID), err)
			}
		default:
			r.session.Result(native.ResultFrame{Kind: native.Sub, Ref: v.ID}, r.session.subscribe(v, nil))
		}
		return err
	}},
	native.Unsub: {Handle: func(r *receiver, f native.Frame) error {
		id, err := native.ParseNumber(f)
		if err == nil {
			r.session.unsubscribe(id, f.Flags()&native.FlagNotTried == 0)
		}
		return err
	}},
	native.Credit: {Handle: func(r *receiver, f native.Frame) error {
		v, err := native.ParseCredit(f)
		if err == nil {
			r.session.addCredit(v)
		}
		return err
	}},
	native.Method:     frameSince(native.CallVersion, true, (*receiver).call),
	native.Call:       frameSince(native.CallVersion, true, (*receiver).call),
	native.Data:       frameSince(native.CallVersion, true, (*receiver).call),
	native.Reply:      frameSince(native.CallVersion, true, (*receiver).call),
	native.Cancel:     frameSince(native.CallVersion, true, (*receiver).call),
	native.CallCredit: frameSince(native.CallVersion, true, (*receiver).call),
	native.Offer:      frameSince(native.CallVersion, false, (*receiver).call),
	native.Ack:        frameSince(native.CallVersion, false, (*receiver).settle),
	native.Nak:        frameSince(native.CallVersion, false, (*receiver).settle),
	native.Forward:    frameSince(native.ForwardVersion, true, (*receiver).announcePath),
	native.Untag:      frameSince(native.ForwardVersion, true, (*receiver).giveBackTag),
}

// frameSince handles a frame that earlier versions do not have.
func frameSince(version uint8, onData bool, handle func(*receiver, native.Frame) error) peer.Kind[*receiver] {
	return peer.Kind[*receiver]{OnData: onData, Handle: func(r *receiver, f native.Frame) error {
		if v := r.session.peer.Version(); v < version {
			return peer.Unexpected(f, fmt.Sprintf("in version %d", v))
		}
		return handle(r, f)
	}}
}

// settle handles ACK and NAK.
func (r *receiver) settle(f native.Frame) error { return r.session.stored.Settle(f, r.elapsed) }

// call handles a frame about calls.
func (r *receiver) call(f native.Frame) error { return r.calls.Handle(f, r.elapsed, &r.unflushed) }

// MayCall returns why the client may not call a service, or nil.
func (s *session) MayCall(service string) *native.Error {
	if id := s.identity.Load(); !topic.MatchService(id.Call, service) {
		return forbidden(id, "call", service)
	}
	return nil
}

// MayServe returns why the client may not offer a service, or nil.
func (s *session) MayServe(service string) *native.Error {
	if id := s.identity.Load(); !topic.MatchService(id.Serve, service) {
		return forbidden(id, "serve", service)
	}
	return nil
}

// Stream returns a stream to the client.
func (s *session) Stream(number int) *outlet.Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streamFor(uint32(number))
}

// Result sends the result of a TAG, SUB or OFFER. If err is not nil, it is the reason of a refusal.
func (s *session) Result(r native.ResultFrame, err error) {
	var e *native.Error
	if errors.As(err, &e) {
		r.Code, r.Reason = e.Code, e.Reason
		s.log.Info("request refused", "kind", r.Kind.String(), "code", e.Code.String(), "reason", e.Reason)
	}
	s.peer.Respond(func(b []byte) []byte { return native.AppendResult(b, r) })
}

// forbidden is the refusal of an operation that the identity has no grant for.
func forbidden(id *Identity, operation, tags string) *native.Error {
	return &native.Error{Code: native.CodeForbidden, Reason: fmt.Sprintf("identity %q may not %s %q", id.Name, operation, tags)}
}

// publisherOf returns the session's publisher for a tag, if the identity allows that. A new publisher has no credit.
func (s *session) publisherOf(name string) (*publisher, error) {
	if err := topic.CheckTag(name); err != nil {
		return nil, &native.Error{Code: native.CodeBadRequest, Reason: err.Error()}
	}
	b := s.listener.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	identity := s.identity.Load() // with the lock held, so that a change of the grants also sees the new publisher
	if !covers(identity.Publish, name) {
		return nil, forbidden(identity, "publish on", name)
	}
	if s.ended {
		return nil, errClosed // nothing would give the tag back
	}
	t, err := b.tags.acquire(name, identity.Name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.published[t.ID]
	if p == nil {
		p = newPublisher(s, t)
		if s.published == nil {
			s.published = map[uint32]*publisher{}
		}
		s.published[t.ID] = p
	} else {
		t.users-- // the session counts as one user of the tag, even if it sends several TAGs
	}
	return p, nil
}

// subscribe adds a subscription, if the identity allows its filter. handle is that of a client in the process, else nil.
func (s *session) subscribe(v native.SubFrame, handle any) error {
	refuse := func(code native.Code, format string, args ...any) error {
		return &native.Error{Code: code, Reason: fmt.Sprintf(format, args...)}
	}
	if err := topic.CheckFilter(v.Filter); err != nil {
		return refuse(native.CodeBadRequest, "%v", err)
	}
	if v.Window == 0 {
		return refuse(native.CodeBadRequest, "a window of 0 bytes: nothing could ever be delivered")
	}
	sub := &subscription{
		Sub:     outlet.Sub{ID: v.ID, Policy: v.Policy, Window: int(min(v.Window, outlet.MaxCredit)), Bound: s.cfg.Queue, Handle: handle},
		session: s, filter: v.Filter, group: v.Group, addressed: v.Addressed,
	}
	if v.Queue > 0 {
		sub.Bound = int(min(uint32(sub.Bound), v.Queue))
	}
	s.mu.Lock()
	err := s.hasPlace(v.ID)
	if err == nil {
		s.subs[v.ID] = sub
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.listener.broker.addSubscription(sub, v.Where); err != nil {
		s.mu.Lock()
		delete(s.subs, v.ID)
		s.mu.Unlock()
		return err
	}
	return nil
}

// hasPlace returns why no subscription with this id can be added, or nil. The caller holds s.mu.
func (s *session) hasPlace(id uint32) error {
	switch {
	case s.subs[id] != nil || s.stored.Get(id) != nil:
		return &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf("subscription %d exists already", id)}
	case len(s.subs)+s.stored.Len() >= s.cfg.MaxSubs:
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("more than %d subscriptions on one connection", s.cfg.MaxSubs)}
	}
	return nil
}

// subscribeStored adds a subscription that reads a stream, and announces it. The error is the reason of a refusal. local is the handle of
// the subscription, if the client is in the process.
func (s *session) subscribeStored(v native.SubFrame, local *LocalSub) error {
	var handle any
	if local != nil {
		handle = local
	}
	sub, err := stored.NewSub(s, v, handle)
	if err != nil {
		return err
	}
	if local != nil {
		local.Sub = sub
	}
	if err := s.listener.broker.addStored(s, sub, v); err != nil {
		return err
	}
	s.stored.Begin(sub)
	return nil
}

// addStored adds sub to its session, and to the stream or the durable that it reads. After removeSession it returns an error, because
// nothing would remove sub again.
func (b *Broker) addStored(s *session, sub *stored.Sub, v native.SubFrame) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions[s.id] != s || b.draining {
		return &native.Error{Code: native.CodeDraining, Reason: "the connection is being closed"}
	}
	if identity := s.identity.Load(); !covers(identity.Subscribe, v.Filter) {
		return forbidden(identity, "subscribe to", v.Filter)
	}
	st, err := b.store.Covering(v.Filter)
	if err != nil {
		return &native.Error{Code: native.CodeBadRequest, Reason: err.Error()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.hasPlace(v.ID); err != nil {
		return err
	}
	return s.stored.Add(sub, st, v.Durable, s.streamFor(v.ID))
}

// Names returns what the client is called, and its identity.
func (s *session) Names() (client, identity string) { return s.name(), s.identity.Load().Name }

// Log returns the log of the session.
func (s *session) Log() *slog.Logger {
	if s.connectedState == nil {
		return s.cfg.Log
	}
	return s.log
}

// Context ends when the client does.
func (s *session) Context() context.Context { return s.client.context() }

// Opened says that a subscription that reads a stream begins, or why it does not.
func (s *session) Opened(handle any, result native.ResultFrame, why error) {
	s.client.opened(handle, result, why)
}

// Ended says why a subscription ends.
func (s *session) Ended(handle any, result native.ResultFrame, why error) {
	s.client.ended(handle, result, why)
}

// drain tells the client that this end is stopping.
func (s *session) drain(reason string) {
	s.client.drain(reason)
	s.stored.Retire()
}

func (s *session) unsubscribe(id uint32, tried bool) {
	s.mu.Lock()
	sub := s.subs[id]
	delete(s.subs, id)
	s.mu.Unlock()
	if sub != nil {
		s.listener.broker.removeSubscriptions([]*subscription{sub})
	}
	s.stored.End(id, tried)
}

// addCredit adds a client's credit to a delivery queue. Credit for a subscription or tag that has ended is ignored.
func (s *session) addCredit(v native.CreditFrame) {
	s.mu.Lock()
	var q *deliveryQueue
	if sub := s.subs[v.Sub]; sub != nil {
		q = sub.queues[v.Tag]
	}
	s.mu.Unlock()
	n := int(min(v.Bytes, outlet.MaxCredit))
	if q != nil {
		q.AddCredit(n)
	} else if v.Tag == native.ByName {
		s.stored.AddCredit(v.Sub, n)
	}
}

// check closes the connection if it makes no progress.
func (s *session) check(now time.Time) {
	if s.connectedState != nil {
		s.peer.Check(now, peer.Limits{Silence: 3 * s.cfg.Heartbeat, HalfFrame: s.cfg.HandshakeTimeout, Write: s.cfg.WriteTimeout})
	}
}

// serves reports whether the session has a subscription or offers a service, so that other clients need it.
func (s *session) serves() bool {
	if s.connectedState != nil && s.calls.Serves() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subs)+s.stored.Len() > 0
}

// publishes reports whether the client has asked to publish on any tag.
func (s *session) publishes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.published) > 0
}

// busy reports whether messages for the client are unwritten, calls of it are in progress, or the client is draining and may still
// publish, call or ack messages.
func (s *session) busy() bool {
	calls := s.connectedState != nil && s.calls.Busy()
	s.mu.Lock()
	defer s.mu.Unlock()
	draining := s.client.draining()
	busy := calls || draining && len(s.published) > 0
	for _, sub := range s.subs {
		for _, q := range sub.queues {
			queued, _, _ := q.Load()
			busy = busy || queued > 0
		}
	}
	return busy || draining && s.stored.Held() || !s.client.written() // it gets no further ones
}

// mayPublish reports whether the client subscribes and has not published yet: it may be a function that handles its first messages.
func (s *session) mayPublish() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subs)+s.stored.Len() > 0 && len(s.published) == 0
}

// onClosing removes the session from the routes. It is called when the connection begins to close.
func (s *session) onClosing(why error) {
	s.listener.broker.removeSession(s)
	s.calls.Remove()
	var e *native.Error
	switch {
	case peer.IsClean(why), s.listener.broker.leftInTime(why):
		s.log.Debug("connection closed")
	case errors.As(why, &e):
		s.listener.broker.countRefusal(e.Code)
		s.log.Warn("connection ended", "code", e.Code.String(), "reason", e.Reason)
	default:
		s.log.Info("connection lost", "err", why)
	}
}

// leftInTime reports whether a client has left because the broker stops. The broker may write to it at the same time.
func (b *Broker) leftInTime(why error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.draining && errors.Is(why, syscall.EPIPE)
}

// onClosed releases the session's resources. It is called after the session's goroutines have ended.
func (s *session) onClosed() {
	for _, w := range s.peer.Writers() {
		w.Lock()
		w.Discard()
		w.Unlock()
	}
	s.control.Discard()
	s.mu.Lock()
	for _, stream := range s.data {
		if stream != nil {
			stream.Discard()
		}
	}
	s.mu.Unlock()
	s.listener.broker.endSession(s)
}
