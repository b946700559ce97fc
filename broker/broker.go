package broker

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker/calls"
	"example.com/ferry/broker/internal/ranks"
	"example.com/ferry/broker/internal/routes"
	"example.com/ferry/broker/stats"
	"example.com/ferry/broker/stored"
	"example.com/ferry/format"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// Broker routes messages between its clients. All methods may overlap.
type Broker struct {
	cfg         atomic.Pointer[Config] // a connection keeps the one it was accepted with; changed with mu held
	formats     *format.ByType
	linger      time.Duration // how long a closing connection may write what is queued
	acceptSlots atomic.Pointer[acceptSlots]

	dropped    [dropReasons]atomic.Uint64
	mismatched atomic.Uint64
	validated  atomic.Uint64
	validators validatorPool
	latency    stats.Histogram // from source to node
	calls      *calls.Router
	store      *stored.Store
	checks     sync.WaitGroup // waits for checkConnections
	kept       keptSockets
	routeAge   atomic.Uint64 // routes of another age are built again; changed with mu held
	cycles     logGate       // of messages that came through too many functions

	mu         ranks.Mutex[ranks.Broker]
	identities *Identities // nil until SetIdentities
	sessions   map[ferry.SourceID]*session
	lastID     ferry.SourceID
	tags       tagTable
	subs       []*subscription
	predicates routes.Predicates
	forwarders []Forwarder
	interests  map[string]*interest // by filter
	filters    routes.Levels[*interest]
	turns      groupTurns
	refused    map[native.Code]uint64
	served     int       // sessions whose goroutines have not ended
	handshakes list.List // connections whose client is not yet identified (transport.Conn), oldest first
	draining   bool

	ended    sync.WaitGroup // waits for the goroutines of all sessions
	stop     chan struct{}  // closed when Shutdown has drained the sessions; ends checkConnections
	stopOnce sync.Once
}

// New returns a Broker that serves nothing yet. Shutdown ends it.
func New(cfg Config) (*Broker, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	formats, err := format.NewByType(cfg.Formats)
	if err != nil {
		return nil, fmt.Errorf("broker: Config.Formats: %w", err)
	}
	b := &Broker{
		formats: formats, linger: 2 * time.Second,
		sessions: map[ferry.SourceID]*session{}, lastID: max(cfg.FirstID, 1) - 1, predicates: routes.Predicates{},
		interests: map[string]*interest{}, turns: groupTurns{byName: map[string]*groupTurn{}},
		refused: map[native.Code]uint64{}, stop: make(chan struct{}),
	}
	b.calls = calls.New(cfg.CallStreamWindow, b.mayBeServed)
	b.store = stored.New(formats, b.stop, b.tellWaiting)
	b.tags = newTagTable(cfg.MaxTags, b.store)
	b.setLimits(&cfg)
	setStreams, err := b.PrepareStreams(cfg.Stored)
	if err != nil {
		return nil, err
	}
	setStreams()
	b.checks.Go(b.checkConnections)
	return b, nil
}

// Turn returns once the broker's lock was free. A supervisor calls it to see that the broker is not deadlocked.
func (b *Broker) Turn() {
	b.mu.Lock()
	defer b.mu.Unlock()
}

// checkConnections closes connections that make no progress and frees unused tags. It does both at intervals.
func (b *Broker) checkConnections() {
	for every := b.cfg.Load().checkInterval(); ; {
		select {
		case <-b.stop:
			return
		case now := <-time.After(every):
			every = b.cfg.Load().checkInterval()
			for _, s := range b.allSessions() {
				s.check(now)
				every = min(every, s.cfg.checkInterval())
			}
			b.mu.Lock()
			b.tags.sweep(16 * sweepStep)
			b.mu.Unlock()
			b.store.Check(now)
		}
	}
}

func (b *Broker) allSessions() []*session {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]*session, 0, len(b.sessions))
	for _, s := range b.sessions {
		all = append(all, s)
	}
	return all
}

// removeSession removes a session and its subscriptions from the routes. It is called when the connection begins to
// close.
func (b *Broker) removeSession(s *session) {
	b.mu.Lock()
	delete(b.sessions, s.id)
	b.mu.Unlock()
	s.mu.Lock()
	subs := make([]*subscription, 0, len(s.subs))
	for _, sub := range s.subs {
		subs = append(subs, sub)
	}
	clear(s.subs)
	s.mu.Unlock()
	b.removeSubscriptions(subs)
	s.stored.EndAll()
}

// endSession releases the session's tags and frees its place. It is called after the session's goroutines have ended.
func (b *Broker) endSession(s *session) {
	b.mu.Lock()
	s.ended = true
	s.mu.Lock()
	published := s.published
	s.published = nil
	s.mu.Unlock()
	for _, p := range published {
		p.leave()
		b.tags.release(p.tag)
	}
	b.giveUpPlace(s)
	b.mu.Unlock()
	b.ended.Done()
}

// giveUpPlace lets another client have the place of a session in Config.MaxConnections. The caller holds the lock.
func (b *Broker) giveUpPlace(s *session) {
	if s.placed {
		s.placed = false
		b.served--
	}
}

// countRefusal counts, by code c, a client that was refused or whose connection the broker ended.
func (b *Broker) countRefusal(c native.Code) {
	b.mu.Lock()
	b.refused[c]++
	b.mu.Unlock()
}

// Services returns what calls.Router.Services does.
func (b *Broker) Services() []calls.ServiceStats { return b.calls.Services() }

// mayBeServed reports whether an identity is granted to serve this service by name.
func (b *Broker) mayBeServed(service string) bool {
	b.mu.Lock()
	known := b.identities
	b.mu.Unlock()
	if known == nil {
		return false
	}
	for i := range known.known {
		for _, p := range known.known[i].Identity.Serve {
			if p != topic.AllServices && topic.MatchService([]string{p}, service) {
				return true
			}
		}
	}
	return false
}

// Shutdown stops gracefully, in three steps. Messages of streams are no longer delivered. First it drains the clients that neither subscribe nor serve calls and waits until
// their messages are delivered and their calls have ended. Then it drains the other clients and waits for the messages and calls
// of these. Then it closes all connections, and the cursors of durables. If ctx ends first, Shutdown closes the connections immediately and returns
// the error of ctx. The caller closes the listeners before.
func (b *Broker) Shutdown(ctx context.Context) error {
	b.mu.Lock()
	b.draining = true
	for b.handshakes.Len() > 0 {
		b.expireOldestHandshake()
	}
	b.mu.Unlock()
	for _, s := range b.allSessions() {
		s.stored.Retire() // what a stream still has is delivered by the next broker
	}
	err := b.drain(ctx, func(s *session) bool { return !s.serves() })
	if err == nil {
		err = b.drain(ctx, func(*session) bool { return true })
	}
	b.stopOnce.Do(func() { close(b.stop) })
	for _, s := range b.allSessions() {
		if err != nil && (s.busy() || !s.client.draining()) {
			s.client.abort() // it may send, and would send to a socket that HandOver keeps
		}
		s.client.close(nil)
	}
	b.ended.Wait()
	b.store.Close()
	b.checks.Wait()
	return err
}

// drain sends GOAWAY draining to the sessions that match. It waits until these sessions publish no more and all queues
// are empty. It looks twice, because a client may publish its last message to a queue that the first look has passed.
func (b *Broker) drain(ctx context.Context, match func(*session) bool) error {
	began, idleBefore := time.Now(), false
	for pause := minDrainPause; ; pause = min(2*pause, maxDrainPause) {
		idle, unsure := true, false
		for _, s := range b.allSessions() {
			if match(s) {
				s.drain("the node is stopping")
				unsure = unsure || s.mayPublish()
			}
			idle = idle && !s.busy()
		}
		idle = idle && (!unsure || time.Since(began) >= firstOutput)
		if idle && idleBefore {
			return nil
		}
		idleBefore = idle
		select {
		case <-ctx.Done():
			return fmt.Errorf("broker: not everything was delivered before the node had to stop: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}

// The pauses between two looks at the sessions that drain: clients wait for the end of a drain that takes one, and a long one costs little.
const (
	minDrainPause = 200 * time.Microsecond
	maxDrainPause = 5 * time.Millisecond
)

// firstOutput is the time that a function has to publish for the first time after it has received its last message. The broker cannot
// see before that it will; one that has published holds the grant of a tag until it is done.
const firstOutput = 5 * time.Millisecond
