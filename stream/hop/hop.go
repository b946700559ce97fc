package hop

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// Hop routes between the connections it serves. All its methods may overlap.
type Hop struct {
	cfg     Config
	formats *format.ByType
	linger  time.Duration // how long a connection that ends may take to write what is left

	accepted   chan struct{} // has an element for each connection accepted and not yet served or turned away
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
	served   int       // sessions, to the end of their goroutines
	greeting list.List // connections in handshake, oldest first: transport.Conn
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
		cfg: cfg, accepted: make(chan struct{}, 2*cfg.MaxConnections), formats: formats, linger: 2 * time.Second,
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
	h.served--
	h.mu.Unlock()
	h.ending.Done()
}

// Shutdown stops gracefully. Sources are told to send what they have and no more; when they are done and everything is
// delivered, functions are told to finish; when their answers are delivered too, all connections are closed. When ctx
// ends first, they are closed at once and its error is returned. Listeners are the caller's to close, before.
func (h *Hop) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.draining = true
	for h.greeting.Len() > 0 {
		h.expireOldest()
	}
	h.mu.Unlock()
	err := h.drain(ctx, func(s *session) bool { return !s.subscribes() })
	if err == nil {
		err = h.drain(ctx, func(*session) bool { return true })
	}
	for _, s := range h.all() {
		if err != nil {
			s.peer.Abort()
		}
		s.peer.Close(nil)
	}
	h.stopped.Do(func() { close(h.stop) })
	h.ending.Wait()
	return err
}

// drain tells those sessions that the node stops, and waits until they publish no more and all queues are empty.
func (h *Hop) drain(ctx context.Context, which func(*session) bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		idle := true
		for _, s := range h.all() {
			if which(s) {
				s.peer.Drain("the node is stopping")
			}
			idle = idle && !s.busy()
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
