package hop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream/internal/link"
	"example.com/ferry/transport"
)

// session is one client: a control stream, and the data streams that tags are spread over where the transport has them.
type session struct {
	hop      *Hop
	id       ferry.SourceID
	name     string
	identity *Identity
	conn     transport.Conn
	multi    transport.Multi // nil: everything goes over the control stream
	validate Validation
	control  *outlet
	ctx      context.Context // ends with the session
	cancel   context.CancelFunc
	once     sync.Once
	readers  sync.WaitGroup // of the streams, and acceptStreams
	left     atomic.Bool    // the client said GOAWAY: what fails after it is no loss
	log      *slog.Logger

	mu        sync.Mutex
	data      []*outlet // by tag number % len; nil until used
	published map[uint32]publisher
	subs      map[uint32]*subscription
	inlets    map[*link.Inlet]*watch
}

// newSession returns the session of a client whose HELLO was accepted.
func newSession(h *Hop, conn transport.Conn, hello native.HelloFrame, identity *Identity, v Validation) *session {
	s := &session{
		hop: h, name: hello.Name, identity: identity, conn: conn, validate: v, control: newOutlet(),
		published: map[uint32]publisher{}, subs: map[uint32]*subscription{}, inlets: map[*link.Inlet]*watch{},
	}
	if s.name == "" {
		s.name = identity.Name
	}
	if m, ok := conn.(transport.Multi); ok {
		s.multi, s.data = m, make([]*outlet, h.cfg.Streams)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.log = h.cfg.Log
	s.readers.Add(1) // of the control stream
	return s
}

// start welcomes the client and starts the goroutines of the connection, but for the one that reads the control stream.
func (s *session) start() {
	s.log = s.log.With(slog.Group("client", "source", uint32(s.id), "name", s.name, "identity", s.identity.Name, "remote", s.conn.RemoteAddr().String()))
	s.log.Debug("connection opened")
	cfg := &s.hop.cfg
	w := native.WelcomeFrame{
		Version: native.Version, Streams: uint8(len(s.data)), Source: uint32(s.id), MaxFrame: uint32(cfg.MaxFrame),
		Window: uint32(cfg.Window), Heartbeat: uint32(cfg.Heartbeat / time.Millisecond),
	}
	s.tell(func(b []byte) []byte { return native.AppendWelcome(b, w) })
	go func() {
		if err := s.control.Run(s.conn); err != nil {
			s.end(err)
		}
	}()
	if s.multi != nil {
		s.readers.Add(1)
		go s.acceptStreams()
	}
}

// watch is what the hop's clock last saw of an inlet.
type watch struct {
	reads uint64
	since time.Time // of the last read
	half  time.Time // since when half a frame waits; zero if none does
}

// publisher returns the session's right to publish on a tag, nil if it has none.
func (s *session) publisher(tag uint32) publisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.published[tag]
}

// outletFor returns the stream that a tag is delivered on, and opens it if it is new; s.mu is held.
func (s *session) outletFor(tag uint32) *outlet {
	if s.multi == nil {
		return s.control
	}
	i := int(tag) % len(s.data)
	if s.data[i] == nil {
		o := newOutlet()
		s.data[i] = o
		go func() {
			if err := link.RunData(s.ctx, s.multi, i, o.Outlet); err != nil {
				s.end(err)
			}
		}()
	}
	return s.data[i]
}

// maxControl is how many bytes of control frames may wait for one write: as many as the requests that one read brings
// ask for.
const maxControl = 256 << 10

// tell appends a control frame. It ends the session of a client that sends requests and does not read the results.
func (s *session) tell(appendTo func([]byte) []byte) {
	s.control.Lock()
	if s.control.Closed() {
		s.control.unlock()
		return
	}
	waiting := s.control.AppendControl(1<<10, appendTo)
	s.control.unlock()
	if waiting > maxControl {
		s.end(&native.Error{Code: native.CodeLimit, Reason: "the client asks and does not read the answers"})
	}
}

// read reads one stream until it ends, and the session with it.
func (s *session) read(inlet *link.Inlet, control func(native.Frame) error) {
	defer s.readers.Done()
	s.mu.Lock()
	s.inlets[inlet] = &watch{since: time.Now()}
	s.mu.Unlock()
	err := newReader(s, inlet).loop(control)
	s.mu.Lock()
	delete(s.inlets, inlet)
	s.mu.Unlock()
	inlet.Close()
	if control != nil || !errors.Is(err, io.EOF) { // a data stream may end before the session does
		s.end(err)
	}
}

// acceptStreams reads the data streams that the client opens.
func (s *session) acceptStreams() {
	defer s.readers.Done()
	for open := 0; ; open++ {
		stream, err := s.multi.AcceptStream(s.ctx)
		if err != nil {
			return // the connection has ended: its control stream says why
		}
		if open >= len(s.data) {
			s.end(&native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("more than %d data streams", len(s.data))})
			return
		}
		s.readers.Add(1)
		go s.read(link.NewInlet(link.Joined(stream), s.hop.cfg.MaxFrame), nil)
	}
}

// handle takes a control frame.
func (s *session) handle(f native.Frame) error {
	switch f.Kind() {
	case native.Tag:
		v, err := native.ParseTag(f)
		if err != nil {
			return err
		}
		res := native.ResultFrame{Kind: native.Tag, Ref: v.Ref}
		res.Value, err = s.publishOn(v.Name)
		s.result(res, err)
	case native.Sub:
		v, err := native.ParseSub(f)
		if err != nil {
			return err
		}
		s.result(native.ResultFrame{Kind: native.Sub, Ref: v.ID}, s.subscribe(v))
	case native.Unsub:
		id, err := native.ParseNumber(f)
		if err != nil {
			return err
		}
		s.unsubscribe(id)
	case native.Credit:
		v, err := native.ParseCredit(f)
		if err != nil {
			return err
		}
		s.credit(v)
	case native.Goaway:
		s.left.Store(true)
		return io.EOF
	default:
		return unexpected(f, "from a client")
	}
	return nil
}

// result answers a request; err is nil or says why not.
func (s *session) result(r native.ResultFrame, err error) {
	var e *native.Error
	if errors.As(err, &e) {
		r.Code, r.Reason = e.Code, e.Reason
		s.log.Info("request refused", "kind", r.Kind.String(), "code", e.Code.String(), "reason", e.Reason)
	}
	s.tell(func(b []byte) []byte { return native.AppendResult(b, r) })
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
		session: s, id: v.ID, filter: v.Filter, group: v.Group, policy: v.Policy, back: v.Back,
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

// check ends the session if one of its streams stands still: silence, half a frame, a write that is not read.
func (s *session) check(now time.Time) {
	cfg := &s.hop.cfg
	s.mu.Lock()
	silent, half := len(s.inlets) > 0, false
	for in, w := range s.inlets {
		reads, partial := in.Progress()
		switch {
		case reads != w.reads:
			w.reads, w.since, w.half = reads, now, time.Time{}
		case partial && w.half.IsZero():
			w.half = now
		}
		silent = silent && now.Sub(w.since) > 3*cfg.Heartbeat
		half = half || (partial && !w.half.IsZero() && now.Sub(w.half) > cfg.HandshakeTimeout)
	}
	blocked := s.control.Blocked(now)
	for _, o := range s.data {
		if o != nil {
			blocked = max(blocked, o.Blocked(now))
		}
	}
	s.mu.Unlock()
	switch {
	case silent:
		s.end(&native.Error{Code: native.CodeTimeout, Reason: fmt.Sprintf("nothing was heard for %v", 3*cfg.Heartbeat)})
	case half:
		s.end(&native.Error{Code: native.CodeTimeout, Reason: fmt.Sprintf("half a frame, and nothing more for %v", cfg.HandshakeTimeout)})
	case blocked > cfg.WriteTimeout:
		s.end(&native.Error{Code: native.CodeTimeout, Reason: fmt.Sprintf("nothing was read for %v", cfg.WriteTimeout)})
	}
}

// subscribes reports whether anything is delivered to the session.
func (s *session) subscribes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subs) > 0
}

// busy reports whether anything routed to the session is not yet written or, if it was told that the node stops, it may
// still publish: a client that is done leaves.
func (s *session) busy(told bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	busy := told && len(s.published) > 0
	for _, sub := range s.subs {
		for _, l := range sub.lanes {
			l.out.Lock()
			busy = busy || l.queue.Bytes() > 0
			l.out.Unlock()
		}
	}
	for _, o := range append([]*outlet{s.control}, s.data...) {
		busy = busy || (o != nil && !o.Empty())
	}
	return busy
}

// end ends the session: what was routed to it is written if the client reads on, its subscriptions and credit are gone.
func (s *session) end(why error) {
	s.once.Do(func() { go s.finish(why) })
}

func (s *session) finish(why error) {
	s.hop.forget(s)
	var e *native.Error
	clean := why == nil || s.left.Load() || errors.Is(why, io.EOF) || errors.Is(why, context.Canceled)
	switch {
	case errors.As(why, &e) && !s.left.Load():
		s.hop.refuse(e.Code)
		s.log.Warn("connection ended", "code", e.Code.String(), "reason", e.Reason)
		s.tell(func(b []byte) []byte {
			return native.AppendGoaway(b, native.GoawayFrame{Code: e.Code, Reason: e.Reason})
		})
	case clean:
		s.log.Debug("connection closed")
	default:
		s.log.Info("connection lost", "err", why)
	}
	s.mu.Lock()
	outs := append([]*outlet{s.control}, s.data...)
	s.mu.Unlock()
	patience := time.After(s.hop.linger)
	for _, o := range outs {
		if o != nil {
			o.Close()
		}
	}
	if e != nil || clean {
	flush:
		for _, o := range outs {
			if o == nil {
				continue
			}
			select {
			case <-o.Done():
			case <-patience:
				break flush
			}
		}
	}
	_ = s.conn.Close()
	s.cancel()
	for _, o := range outs {
		if o != nil {
			<-o.Done()
			o.Lock()
			o.Discard()
			o.Unlock()
		}
	}
	s.readers.Wait()
	s.hop.done(s)
}
