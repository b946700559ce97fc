package hop

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream/internal/link"
	"example.com/ferry/transport"
)

// Hop routes between the connections it serves. All its methods may overlap.
type Hop struct {
	cfg     Config
	formats *format.ByType
	linger  time.Duration // how long a connection that ends may take to write what is left

	open       atomic.Int32 // connections, those in handshake included
	dropped    [dropKinds]atomic.Uint64
	mismatched atomic.Uint64
	latency    [LatencyBuckets]atomic.Uint64
	latencySum atomic.Int64

	mu       sync.Mutex
	sessions map[ferry.SourceID]*session
	lastID   ferry.SourceID
	tags     tagTable
	subs     []*subscription
	preds    predicates
	refused  map[native.Code]uint64
	draining bool
	ending   sync.WaitGroup // sessions, to the end of their goroutines
	stop     chan struct{}  // closed by Shutdown: ends the clock
	stopped  sync.Once
}

// New returns a Hop that serves nothing yet. Shutdown ends it.
func New(cfg Config) (*Hop, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	formats, err := format.NewByType(cfg.Formats)
	if err != nil {
		return nil, fmt.Errorf("hop: Config.Formats: %w", err)
	}
	h := &Hop{
		cfg: cfg, formats: formats, linger: 2 * time.Second,
		sessions: map[ferry.SourceID]*session{}, tags: newTagTable(cfg.MaxTags), preds: predicates{},
		refused: map[native.Code]uint64{}, stop: make(chan struct{}),
	}
	go h.clock()
	return h, nil
}

// clock looks for connections that stand still.
func (h *Hop) clock() {
	every := min(h.cfg.HandshakeTimeout, h.cfg.Heartbeat, h.cfg.WriteTimeout, 4*time.Second) / 4
	tick := time.NewTicker(max(every, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-h.stop:
			return
		case now := <-tick.C:
			for _, s := range h.all() {
				s.check(now)
			}
			h.mu.Lock()
			h.tags.sweep(16 * sweepStep)
			h.mu.Unlock()
		}
	}
}

func (h *Hop) all() []*session {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		all = append(all, s)
	}
	return all
}

// Serve accepts connections from l until ctx ends or l is closed, which is no error. What clients publish is checked as v
// says.
func (h *Hop) Serve(ctx context.Context, l transport.Listener, v Validation) error {
	for {
		conn, err := l.Accept(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("hop: accept on %v: %w", l.Addr(), err)
		}
		if int(h.open.Add(1)) > h.cfg.MaxConnections {
			h.turnAway(conn, &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("the node serves %d connections already", h.cfg.MaxConnections)})
			h.open.Add(-1)
			continue
		}
		go h.welcome(conn, v)
	}
}

// turnAway tells a client why it is not served.
func (h *Hop) turnAway(conn transport.Conn, why error) {
	var e *native.Error
	if errors.As(why, &e) {
		h.refuse(e.Code)
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write(native.AppendGoaway(nil, native.GoawayFrame{Code: e.Code, Reason: e.Reason}))
	}
	_ = conn.Close()
}

func (h *Hop) refuse(c native.Code) {
	h.mu.Lock()
	h.refused[c]++
	h.mu.Unlock()
}

// welcome does the handshake and then serves conn.
func (h *Hop) welcome(conn transport.Conn, v Validation) {
	_ = conn.SetDeadline(time.Now().Add(h.cfg.HandshakeTimeout))
	inlet := link.NewInlet(conn, native.MaxHandshake)
	hello, identity, err := h.greet(conn, inlet)
	if err != nil {
		h.cfg.Log.Warn("connection refused", "remote", conn.RemoteAddr(), "err", err)
		inlet.Close()
		h.turnAway(conn, err)
		h.open.Add(-1)
		return
	}
	if r, ok := conn.(transport.Restricted); ok {
		r.PeerIdentified()
	}
	_ = conn.SetDeadline(time.Time{})
	inlet.SetMaxFrame(h.cfg.MaxFrame)
	s := &session{
		hop: h, name: hello.Name, identity: identity, conn: conn, validate: v, control: newOutlet(),
		published: map[uint32]publisher{}, subs: map[uint32]*subscription{}, inlets: map[*link.Inlet]*watch{},
	}
	if s.name == "" {
		s.name = identity.Name
	}
	s.readers.Add(1)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	w := native.WelcomeFrame{
		Version: native.Version, MaxFrame: uint32(h.cfg.MaxFrame), Window: uint32(h.cfg.Window), Heartbeat: uint32(h.cfg.Heartbeat / time.Millisecond),
	}
	if m, ok := conn.(transport.Multi); ok {
		s.multi, s.data = m, make([]*outlet, h.cfg.Streams)
		w.Streams = uint8(h.cfg.Streams)
	}
	if !h.join(s) {
		inlet.Close()
		h.turnAway(conn, &native.Error{Code: native.CodeDraining, Reason: "the node is stopping"})
		h.open.Add(-1)
		return
	}
	s.log = h.cfg.Log.With(slog.Group("client", "source", uint32(s.id), "name", s.name, "identity", identity.Name, "remote", conn.RemoteAddr().String()))
	s.log.Debug("connection opened")
	w.Source = uint32(s.id)
	s.tell(func(b []byte) []byte { return native.AppendWelcome(b, w) })
	go func() {
		if err := s.control.Run(conn); err != nil {
			s.end(err)
		}
	}()
	if s.multi != nil {
		s.readers.Add(1)
		go s.acceptStreams()
	}
	s.read(inlet, s.handle)
}

// greet reads HELLO and finds out who the client is.
func (h *Hop) greet(conn transport.Conn, inlet *link.Inlet) (native.HelloFrame, *Identity, error) {
	f, err := inlet.First()
	if err != nil {
		var e *native.Error
		var t net.Error
		switch {
		case errors.As(err, &e):
			return native.HelloFrame{}, nil, &native.Error{Code: native.CodeProtocol, Reason: "this is not a ferry client: " + e.Reason}
		case errors.As(err, &t) && t.Timeout():
			err = &native.Error{Code: native.CodeTimeout, Reason: fmt.Sprintf("no HELLO within %v", h.cfg.HandshakeTimeout)}
		}
		return native.HelloFrame{}, nil, err
	}
	if f.Kind() != native.Hello {
		return native.HelloFrame{}, nil, unexpected(f, "before HELLO")
	}
	hello, err := native.ParseHello(f)
	if err != nil {
		return hello, nil, err
	}
	if _, err := native.Negotiate(hello); err != nil {
		return hello, nil, err
	}
	var state *tls.ConnectionState
	if sec, ok := conn.(transport.Secured); ok {
		cs := sec.ConnectionState()
		state = &cs
	}
	identity, err := h.cfg.Identify(hello.Token, state)
	if err != nil {
		h.cfg.Log.Warn("identity refused", "remote", conn.RemoteAddr(), "name", hello.Name, "err", err)
		return hello, nil, &native.Error{Code: native.CodeUnauthenticated, Reason: "no identity here has this token or certificate"}
	}
	return hello, identity, nil
}

// join makes s known; false means the hop is stopping.
func (h *Hop) join(s *session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return false
	}
	for h.lastID++; h.lastID == 0 || h.sessions[h.lastID] != nil; h.lastID++ {
	}
	s.id = h.lastID
	h.sessions[s.id] = s
	h.ending.Add(1)
	return true
}

// add makes a subscription part of the routes. It refuses one of a session that forget has taken out: its reader goes on
// until the socket is closed, but nothing would remove the subscription again.
func (h *Hop) add(sub *subscription, where string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[sub.session.id] != sub.session {
		return &native.Error{Code: native.CodeDraining, Reason: "the connection is being closed"}
	}
	p, err := h.preds.get(where)
	if err != nil {
		return &native.Error{Code: native.CodeBadRequest, Reason: err.Error()}
	}
	sub.pred, sub.routed = p, true
	h.subs = append(h.subs, sub)
	h.reroute(sub)
	return nil
}

// reroute has the routes that sub is part of built anew; the lock is held.
func (h *Hop) reroute(sub *subscription) {
	for _, t := range h.tags.all {
		if topic.Match(sub.filter, t.name) {
			t.route.Store(nil)
		}
	}
}

// forget takes a session that ends out of everything.
func (h *Hop) forget(s *session) {
	h.mu.Lock()
	delete(h.sessions, s.id)
	h.mu.Unlock()
	s.mu.Lock()
	subs := make([]*subscription, 0, len(s.subs))
	for _, sub := range s.subs {
		subs = append(subs, sub)
	}
	clear(s.subs)
	s.mu.Unlock()
	h.remove(subs)
}

// done gives back what a session holds after its readers have ended.
func (h *Hop) done(s *session) {
	h.mu.Lock()
	for _, p := range s.published {
		h.tags.release(p.tag)
	}
	h.mu.Unlock()
	h.open.Add(-1)
	h.ending.Done()
}

// Shutdown stops gracefully. Sources are told to send what they have and no more; when they are done and everything is
// delivered, functions are told to finish; when their answers are delivered too, all connections are closed. When ctx
// ends first, they are closed at once and its error is returned. Listeners are the caller's to close, before.
func (h *Hop) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.draining = true
	h.mu.Unlock()
	told := map[*session]bool{}
	err := h.drain(ctx, told, func(s *session) bool { return !s.subscribes() })
	if err == nil {
		err = h.drain(ctx, told, func(*session) bool { return true })
	}
	for _, s := range h.all() {
		if err != nil {
			_ = s.conn.Close()
		}
		s.end(nil)
	}
	h.stopped.Do(func() { close(h.stop) })
	h.ending.Wait()
	return err
}

// drain tells those sessions that the node stops, and waits until they publish no more and all queues are empty.
func (h *Hop) drain(ctx context.Context, told map[*session]bool, which func(*session) bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		idle := true
		for _, s := range h.all() {
			if which(s) && !told[s] {
				told[s] = true
				s.tell(func(b []byte) []byte {
					return native.AppendGoaway(b, native.GoawayFrame{Code: native.CodeDraining, Reason: "the node is stopping"})
				})
			}
			idle = idle && !s.busy(told[s])
		}
		if idle {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("hop: not everything was delivered before the node had to stop: %w", ctx.Err())
		case <-tick.C:
		}
	}
}
