package hop

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// session is one client that has said who it is.
type session struct {
	hop      *Hop
	id       ferry.SourceID
	name     string
	identity *Identity
	peer     *peer.Conn
	validate Validation
	control  *outlet
	log      *slog.Logger

	mu        sync.Mutex
	data      []*outlet // by data stream; nil until used
	published map[uint32]publisher
	subs      map[uint32]*subscription
}

func newSession(h *Hop, name string, identity *Identity, v Validation) *session {
	if name == "" {
		name = identity.Name
	}
	return &session{
		hop: h, name: name, identity: identity, validate: v, control: &outlet{}, log: h.cfg.Log,
		published: map[uint32]publisher{}, subs: map[uint32]*subscription{},
	}
}

// start welcomes the client over conn; the hop's lock is held, and the session has its number.
func (s *session) start(conn *peer.Conn, remote string) {
	s.peer = conn
	s.control.attach(conn.Control())
	cfg := &s.hop.cfg
	conn.Welcome(native.WelcomeFrame{
		Streams: uint8(cfg.Streams), Source: uint32(s.id), MaxFrame: uint32(cfg.MaxFrame), Window: uint32(cfg.Window),
		Heartbeat: uint32(cfg.Heartbeat / time.Millisecond),
	})
	s.data = make([]*outlet, conn.Streams())
	s.log = s.log.With(slog.Group("client", "source", uint32(s.id), "name", s.name, "identity", s.identity.Name, "addr", remote))
	s.log.Debug("connection opened")
}

// publisher returns the session's right to publish on a tag, nil if it has none.
func (s *session) publisher(tag uint32) publisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.published[tag]
}

// outletFor returns the stream that a tag is delivered on, and opens it if it is new; s.mu is held.
func (s *session) outletFor(tag uint32) *outlet {
	if len(s.data) == 0 {
		return s.control
	}
	i := int(tag % uint32(len(s.data)))
	if s.data[i] == nil {
		s.data[i] = &outlet{}
		s.peer.Writer(i, s.data[i].attach)
	}
	return s.data[i]
}

// kinds is the frames that a client may send beside those that package peer handles.
var kinds = peer.Table[*reader]{
	native.Tag: {Handle: func(r *reader, f native.Frame) error {
		v, err := native.ParseTag(f)
		if err != nil {
			return err
		}
		res := native.ResultFrame{Kind: native.Tag, Ref: v.Ref}
		res.Value, err = r.s.publishOn(v.Name)
		r.s.result(res, err)
		return nil
	}},
	native.Sub: {Handle: func(r *reader, f native.Frame) error {
		v, err := native.ParseSub(f)
		if err == nil {
			r.s.result(native.ResultFrame{Kind: native.Sub, Ref: v.ID}, r.s.subscribe(v))
		}
		return err
	}},
	native.Unsub: {Handle: func(r *reader, f native.Frame) error {
		id, err := native.ParseNumber(f)
		if err == nil {
			r.s.unsubscribe(id)
		}
		return err
	}},
	native.Credit: {Handle: func(r *reader, f native.Frame) error {
		v, err := native.ParseCredit(f)
		if err == nil {
			r.s.credit(v)
		}
		return err
	}},
}

// result answers a request; err is nil or says why not.
func (s *session) result(r native.ResultFrame, err error) {
	var e *native.Error
	if errors.As(err, &e) {
		r.Code, r.Reason = e.Code, e.Reason
		s.log.Info("request refused", "kind", r.Kind.String(), "code", e.Code.String(), "reason", e.Reason)
	}
	s.peer.Respond(func(b []byte) []byte { return native.AppendResult(b, r) })
}

// publishOn gives the session the right to publish on a tag, if its identity has it, and returns the tag's number.
func (s *session) publishOn(name string) (uint32, error) {
	if err := topic.CheckTag(name); err != nil {
		return 0, &native.Error{Code: native.CodeBadRequest, Reason: err.Error()}
	}
	if !covered(s.identity.Publish, name) {
		return 0, &native.Error{Code: native.CodeForbidden, Reason: fmt.Sprintf("identity %q may not publish on %q", s.identity.Name, name)}
	}
	h := s.hop
	h.mu.Lock()
	defer h.mu.Unlock()
	t, err := h.tags.acquire(name, s.identity.Name)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.published[t.id] == nil {
		s.published[t.id] = &publishing{session: s, tag: t, balance: h.cfg.Window}
	} else {
		t.users-- // the session is one user, however often it asks
	}
	return t.id, nil
}

// subscribe adds a subscription.
func (s *session) subscribe(v native.SubFrame) error {
	refuse := func(code native.Code, format string, args ...any) error {
		return &native.Error{Code: code, Reason: fmt.Sprintf(format, args...)}
	}
	if err := topic.CheckFilter(v.Filter); err != nil {
		return refuse(native.CodeBadRequest, "%v", err)
	}
	if !covered(s.identity.Subscribe, v.Filter) {
		return refuse(native.CodeForbidden, "identity %q may not subscribe to %q", s.identity.Name, v.Filter)
	}
	if v.Window == 0 {
		return refuse(native.CodeBadRequest, "a window of 0 bytes: nothing could ever be delivered")
	}
	sub := &subscription{
		session: s, id: v.ID, filter: v.Filter, group: v.Group, policy: v.Policy, back: v.Addressed,
		window: int(min(v.Window, maxCredit)), queue: s.hop.cfg.Queue, lanes: map[uint32]*lane{},
	}
	if v.Queue > 0 {
		sub.queue = int(min(uint32(sub.queue), v.Queue))
	}
	s.mu.Lock()
	n, taken := len(s.subs), s.subs[v.ID] != nil
	if n < s.hop.cfg.MaxSubs && !taken {
		s.subs[v.ID] = sub
	}
	s.mu.Unlock()
	switch {
	case taken:
		return refuse(native.CodeBadRequest, "subscription %d exists already", v.ID)
	case n >= s.hop.cfg.MaxSubs:
		return refuse(native.CodeLimit, "more than %d subscriptions on one connection", s.hop.cfg.MaxSubs)
	}
	if err := s.hop.add(sub, v.Where); err != nil {
		s.mu.Lock()
		delete(s.subs, v.ID)
		s.mu.Unlock()
		return err
	}
	return nil
}

func (s *session) unsubscribe(id uint32) {
	s.mu.Lock()
	sub := s.subs[id]
	delete(s.subs, id)
	s.mu.Unlock()
	if sub != nil {
		s.hop.remove([]*subscription{sub})
	}
}

// credit lets a lane send more.
func (s *session) credit(v native.CreditFrame) {
	s.mu.Lock()
	var l *lane
	if sub := s.subs[v.Sub]; sub != nil {
		l = sub.lanes[v.Tag]
	}
	s.mu.Unlock()
	if l == nil {
		return // for a subscription that was just given up
	}
	l.out.Lock()
	l.credit = min(l.credit+int(min(v.Bytes, maxCredit)), maxCredit)
	l.schedule()
	l.out.unlock()
}

// check closes the connection if it stands still.
func (s *session) check(now time.Time) {
	cfg := &s.hop.cfg
	s.peer.Check(now, peer.Limits{Silence: 3 * cfg.Heartbeat, HalfFrame: cfg.HandshakeTimeout, Write: cfg.WriteTimeout})
}

// subscribes reports whether anything is delivered to the session.
func (s *session) subscribes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subs) > 0
}

// busy reports whether anything routed to the session is not yet written. A client that was told that the node stops, and
// has published, is busy until it leaves: it may have more to send.
func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	busy := s.peer.State() == peer.Draining && len(s.published) > 0
	for _, sub := range s.subs {
		for _, l := range sub.lanes {
			l.out.Lock()
			busy = busy || l.queue.Bytes() > 0
			l.out.Unlock()
		}
	}
	for _, w := range s.peer.Writers() {
		busy = busy || !w.Empty()
	}
	return busy
}

// closing takes the session out of the routes when its connection begins to close.
func (s *session) closing(why error) {
	s.hop.forget(s)
	var e *native.Error
	switch {
	case peer.IsClean(why):
		s.log.Debug("connection closed")
	case errors.As(why, &e):
		s.hop.refuse(e.Code)
		s.log.Warn("connection ended", "code", e.Code.String(), "reason", e.Reason)
	default:
		s.log.Info("connection lost", "err", why)
	}
}

// closed gives back what the session holds, after its goroutines have ended.
func (s *session) closed() {
	for _, w := range s.peer.Writers() {
		w.Lock()
		w.Discard()
		w.Unlock()
	}
	s.hop.done(s)
}
