package mqtt

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/clock"
)

// Server has the sessions and the retained messages of all its Listeners. All methods may overlap.
type Server struct {
	cfg      Config
	retained retainedStore
	counters counters
	dirty    atomic.Bool  // sessions have changed since they were saved
	share    atomic.Int64 // Config.IdentityShare

	mu       sync.Mutex
	sessions map[string]*session // by sessionKey
	owned    map[string]int      // sessions by identity

	removing sync.Mutex // guards removals. No other lock is taken with it held
	removals []Cursor   // durables of sessions that have ended

	listeners map[*Listener]struct{}

	remove chan struct{} // has one place: there are removals

	saving sync.Mutex // held by Save. The other locks are taken with it held

	stop  chan struct{}
	once  sync.Once
	ended chan struct{}
}

// counters count what the clients of all Listeners do.
type counters struct {
	connected       atomic.Int64
	received        [3]atomic.Uint64 // messages of clients, by QoS
	sent            [3]atomic.Uint64 // messages to clients, by QoS
	refused         atomic.Uint64    // messages of clients that were refused
	refusedConnects atomic.Uint64
	dropped         atomic.Uint64 // messages for clients that were too large or expired
	wills           atomic.Uint64
}

// New returns a Server. It reads the sessions and retained messages of Config.Dir. The caller calls Close after its Listeners are drained.
func New(cfg Config) (*Server, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	v := &Server{
		cfg: cfg, sessions: map[string]*session{}, owned: map[string]int{}, listeners: map[*Listener]struct{}{},
		remove: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	v.retained.limit, v.retained.owned = usage{cfg.MaxRetained, cfg.RetainedBytes}, map[string]usage{}
	v.SetIdentityShare(cfg.IdentityShare)
	if err := v.load(); err != nil {
		return nil, err
	}
	go v.maintain()
	return v, nil
}

// Close saves the sessions and the retained messages, and ends the goroutine of the Server. Its Listeners are drained before. A second
// call saves again.
func (v *Server) Close() error {
	v.once.Do(func() { close(v.stop) })
	<-v.ended
	return v.Save()
}

// sessionKey is the identity and the client identifier: clients of two identities are different ones, whatever they call themselves.
// Neither contains U+0000.
func sessionKey(identity, clientID string) string { return identity + "\x00" + clientID }

// attach gives the session of a client to a connection: at once, or when the connection that has it has left. It is called on the loop
// of c.
func (v *Server) attach(c *conn) {
	h := c.hello
	key := sessionKey(h.identity, h.clientID)
	v.mu.Lock()
	s := v.sessions[key]
	if s != nil && s.owner != nil && (s.owner.newer(c) || s.handover != nil && s.next.newer(c)) {
		v.mu.Unlock()
		c.takenOver() // the client has connected again while c waited
		return
	}
	if s != nil && s.owner != nil {
		before := s.handover
		s.handover = &handover{next: c}
		owner := s.owner
		v.mu.Unlock()
		owner.ls.Notify(owner.takenOver)
		if before != nil {
			before.next.ls.Notify(before.next.takenOver)
		}
		return
	}
	if s == nil {
		if err := v.checkRoom(h.identity, h.replaces); err != nil {
			v.mu.Unlock()
			c.refuse(err)
			return
		}
	}
	old := s
	if s != nil && h.clean { // the new session takes the place of the old one
		v.drop(s)
		s = nil
	}
	present := s != nil
	if s == nil {
		s = newSession(v, key, h.identity, number())
		v.add(s)
	}
	s.owner, s.handover = c, nil // a will that is delayed is not published: MQTT 5.0, section 3.1.3.2.2
	if old == s {
		old = nil
	}
	c.local.conn.Store(nil)
	if s.local != nil {
		c.local.conn.Store(c)
	}
	v.mu.Unlock()
	if old != nil {
		v.endSession(old)
	}
	c.begin(s, present)
}

func number() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // does not fail
	return max(binary.LittleEndian.Uint64(b[:]), 1)
}

// detach takes the session back from a connection that has left. If the session outlives the connection, it waits for another one;
// otherwise it ends. w is a will that is delayed, or nil. It is called on the loop of c.
func (v *Server) detach(c *conn, w *will) {
	s := c.session
	persists := s.lifetime > 0
	v.mu.Lock()
	var next *conn
	if s.handover != nil {
		next = s.next
	}
	s.owner, s.handover = nil, &handover{will: w, expires: clock.Now() + int64(s.lifetime)}
	if !persists {
		v.drop(s)
		if next != nil {
			next.hello.replaces = true
		}
	}
	v.mu.Unlock()
	v.dirty.Store(true)
	if !persists {
		v.endSession(s)
	}
	if next != nil {
		next.ls.Notify(func() {
			if !next.left {
				v.attach(next)
			}
		})
	}
}

// cancel notes that a connection that waits for a session has left.
func (v *Server) cancel(c *conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.sessions[sessionKey(c.hello.identity, c.hello.clientID)]; s != nil && s.owner != nil && s.handover != nil && s.next == c {
		s.handover = nil
	}
}

// forget notes that the broker has ended the client that a session keeps.
func (v *Server) forget(s *session, k *local) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.local == k {
		s.local = nil
		s.forgetSubscriptions()
	}
}

// endSession releases what a session has that is no longer in Server.sessions, and publishes its will.
func (v *Server) endSession(s *session) {
	v.mu.Lock()
	k, w := s.local, s.will
	s.local, s.will = nil, nil
	v.mu.Unlock()
	s.mu.Lock()
	for x := s.subs; x != nil; x = x.next {
		x.removed = true
	}
	s.mu.Unlock()
	for x := s.subs; x != nil; x = x.next {
		v.removeDurable(x.durable)
	}
	if k != nil {
		if w != nil {
			v.publishWill(k, s, w)
		}
		k.Close()
	}
	s.release()
	v.dirty.Store(true)
}

// removeDurable makes the goroutine of the Server remove a durable. It may be called with locks of the broker held.
func (v *Server) removeDurable(c Cursor) {
	if c == (Cursor{}) {
		return
	}
	v.removing.Lock()
	v.removals = append(v.removals, c)
	v.removing.Unlock()
	select {
	case v.remove <- struct{}{}:
	default:
	}
}

// maxRemovals is how many durables may wait to be removed before sessions get no further ones.
const maxRemovals = 1024

// crowded reports whether many durables wait to be removed: clients subscribe and unsubscribe faster than the engine can follow.
func (v *Server) crowded() bool {
	v.removing.Lock()
	defer v.removing.Unlock()
	return len(v.removals) >= maxRemovals
}

// maintainInterval is the time between two looks at what has to be done: sessions that expire, wills that are due, and what has to be
// saved.
const maintainInterval = time.Second

// maintain is what the Server does by itself, until it is stopped. What waits for the engine has a goroutine of its own: wills and sessions do not
// wait for an engine that hangs.
func (v *Server) maintain() {
	defer close(v.ended)
	ctx, cancel := context.WithCancel(context.Background())
	var removing sync.WaitGroup
	removing.Go(func() { v.keepRemoving(ctx) })
	defer removing.Wait()
	defer cancel()
	tick := time.NewTicker(maintainInterval)
	defer tick.Stop()
	saver := saver{server: v}
	for {
		select {
		case <-v.stop:
			return
		case now := <-tick.C:
			v.expire(now)
			v.publishWills(now)
			v.retained.removeExpired()
			saver.saveIfDue(now)
		}
	}
}

// keepRemoving removes durables of sessions that have ended, until ctx ends.
func (v *Server) keepRemoving(ctx context.Context) {
	tick := time.NewTicker(maintainInterval) // tries again what has failed
	defer tick.Stop()
	for orphans := v.removeOrphans(ctx, slog.LevelWarn); ; {
		select {
		case <-ctx.Done():
			return
		case <-v.remove:
		case <-tick.C:
			if !orphans {
				orphans = v.removeOrphans(ctx, slog.LevelDebug)
			}
		}
		v.removeDurables(ctx)
	}
}

// expire ends the sessions whose time is over.
func (v *Server) expire(now time.Time) {
	var over []*session
	v.mu.Lock()
	for _, s := range v.sessions {
		if s.owner == nil && clock.At(now) > s.expires {
			v.drop(s)
			over = append(over, s)
		}
	}
	v.mu.Unlock()
	for _, s := range over {
		v.endSession(s)
	}
}

// durablePrefix returns what the names of all durables of the node's sessions begin with. Nodes may share an engine.
func (v *Server) durablePrefix() string {
	sum := sha256.Sum256([]byte(v.cfg.Node))
	return "mqtt-" + hex.EncodeToString(sum[:4]) + "-"
}

// removeTimeout bounds how long the engine may take to remove a durable.
const removeTimeout = 10 * time.Second

// removeOrphans removes durables that belong to no session: the process has ended before it could. It reports whether the engine has said
// which there are. Otherwise it logs at level.
func (v *Server) removeOrphans(ctx context.Context, level slog.Level) (known bool) {
	if v.cfg.Cursors == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	all, err := v.cfg.Cursors.List(ctx, v.durablePrefix())
	if err != nil {
		v.cfg.Log.Log(ctx, level, "mqtt: the durables of former sessions are not known yet", "err", err)
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	used := map[Cursor]bool{}
	for _, s := range v.sessions {
		s.mu.Lock()
		for x := s.subs; x != nil; x = x.next {
			used[x.durable] = true
		}
		s.mu.Unlock()
	}
	for _, c := range all {
		if !used[c] {
			v.removeDurable(c)
		}
	}
	return true
}

// removeDurables removes the durables of sessions that have ended. Those that cannot be removed now are tried again.
func (v *Server) removeDurables(ctx context.Context) {
	v.removing.Lock()
	removals := v.removals
	v.removals = nil
	v.removing.Unlock()
	if v.cfg.Cursors == nil {
		return
	}
	var failed []Cursor
	for i, c := range removals {
		one, cancel := context.WithTimeout(ctx, removeTimeout)
		err := v.cfg.Cursors.Delete(one, c)
		cancel()
		if err != nil {
			v.cfg.Log.Debug("mqtt: a durable is not removed yet", "stream", c.Stream, "durable", c.Name, "err", err)
			failed = append(failed, c)
		}
		if ctx.Err() != nil {
			failed = append(failed, removals[i+1:]...)
			break
		}
	}
	if len(failed) > 0 {
		v.removing.Lock()
		v.removals = append(failed, v.removals...)
		v.removing.Unlock()
	}
}

// Stats is a copy of the counters of a Server.
type Stats struct {
	Connected       int       // clients
	Sessions        int       // of connected clients and others
	Retained        int       // retained messages
	RetainedBytes   int       // of these
	InFlight        int       // messages with QoS 1 and 2 that clients have not acknowledged
	InFlightBytes   int       // of these
	Received        [3]uint64 // messages of clients, by QoS
	Sent            [3]uint64 // messages to clients, by QoS
	Refused         uint64    // messages of clients that were refused
	RefusedConnects uint64
	Dropped         uint64 // messages for clients that were too large for them, or had expired
	Wills           uint64 // that were published
	Listeners       []ListenerStats
}

// Stats returns the counters.
func (v *Server) Stats() Stats {
	k := &v.counters
	t := Stats{
		Connected: int(k.connected.Load()), Refused: k.refused.Load(), RefusedConnects: k.refusedConnects.Load(),
		Dropped: k.dropped.Load(), Wills: k.wills.Load(),
	}
	for qos := range t.Received {
		t.Received[qos], t.Sent[qos] = k.received[qos].Load(), k.sent[qos].Load()
	}
	t.Retained, t.RetainedBytes = v.retained.size()
	v.mu.Lock()
	defer v.mu.Unlock()
	t.Sessions = len(v.sessions)
	for _, s := range v.sessions {
		s.mu.Lock()
		if s.exchange != nil {
			t.InFlight += s.flights.live
			t.InFlightBytes += s.flights.bytes
		}
		s.mu.Unlock()
	}
	for l := range v.listeners {
		t.Listeners = append(t.Listeners, l.stats())
	}
	return t
}
