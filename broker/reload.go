package broker

import (
	"fmt"
	"maps"
	"slices"

	"example.com/ferry/broker/stored"
	"example.com/ferry/internal/clock"
	"example.com/ferry/protocol/native"
)

// SetIdentities replaces Config.Identify by next.Identify and applies next to the clients that are connected. The Broker
// closes the connection of a client that next does not know by the same name and credential. Grants that a client has lost
// end: its subscriptions get a RESULT that refuses them, and its messages on a tag are dropped, with a NOTICE. A tag that
// the client may publish on again needs no new TAG.
func (b *Broker) SetIdentities(next *Identities) {
	var gone, stay []*session
	b.mu.Lock()
	cfg := *b.cfg.Load()
	cfg.Identify = next.Identify
	b.cfg.Store(&cfg)
	b.identities = next
	for _, s := range b.sessions {
		if b.refresh(s) {
			stay = append(stay, s)
		} else {
			gone = append(gone, s)
		}
	}
	b.mu.Unlock()
	for _, s := range gone {
		s.client.close(&native.Error{Code: native.CodeUnauthenticated, Reason: "the node no longer accepts this client's identity"})
	}
	for _, s := range stay {
		s.applyGrants()
	}
}

// refresh gives s the present identity of its client. It returns false if the client has none any more. The caller holds
// the lock.
func (b *Broker) refresh(s *session) bool {
	if b.identities == nil {
		return true
	}
	identity := b.identities.again(s.identity.Load())
	if identity == nil {
		return false
	}
	s.identity.Store(identity.of(s.name()))
	return true
}

// applyGrants ends what the session's identity no longer allows, and permits again what it allows again.
func (s *session) applyGrants() {
	identity := s.identity.Load()
	var ended []*subscription
	s.listener.broker.mu.Lock() // guards routed: addSubscription refuses a subscription that is not yet part of the routes
	s.mu.Lock()
	for id, sub := range s.subs {
		if sub.routed && !covers(identity.Subscribe, sub.filter) {
			delete(s.subs, id)
			ended = append(ended, sub)
		}
	}
	for _, p := range s.published {
		p.revoked.Store(!covers(identity.Publish, p.tag.Name))
	}
	s.mu.Unlock()
	s.listener.broker.mu.Unlock()
	s.listener.broker.removeSubscriptions(ended)
	if s.connectedState != nil {
		s.calls.Revoke()
	}
	for _, sub := range ended {
		s.Ended(sub.Handle, native.ResultFrame{Kind: native.Sub, Ref: sub.ID}, forbidden(identity, "subscribe to", sub.filter))
	}
	s.stored.Revoke(func(filter string) *native.Error {
		if !covers(identity.Subscribe, filter) {
			return forbidden(identity, "subscribe to", filter)
		}
		return nil
	})
}

// PrepareStreams checks the list of streams that next replaces. The function that it returns puts next in place. Messages
// published from then on are stored as next says; a subscription to a stream that next leaves out ends, with a RESULT that says so. A
// stream that stays, by its name, cannot change AtLeastOnce and Key. Messages that wait for a stream which next leaves out are not
// confirmed: their publishers get a NOTICE. A connection that was told that a tag is stored, and publishes on it, gets GOAWAY draining
// if it is not stored any more, so that its client dials again and is told what holds then. The caller opens the engine's streams before, and deletes none
// of those left out before the function has returned.
func (b *Broker) PrepareStreams(next []Stored) (set func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	put, err := b.store.Prepare(next)
	if err != nil {
		return nil, err
	}
	return func() {
		b.mu.Lock()
		gone := put()
		for _, t := range b.tags.all {
			t.SetStream(b.store.Of(t.Name))
		}
		b.mu.Unlock()
		for _, st := range gone {
			st.Retire()
			for _, s := range b.allSessions() {
				for _, p := range s.publishers() {
					p.Abandon(st)
				}
			}
		}
		for _, s := range b.allSessions() {
			if s.promiseBroken() {
				s.drain("the node no longer stores a tag that this client publishes on")
			}
		}
	}, nil
}

// tellWaiting tells the publishers whose messages wait to be stored in st.
func (b *Broker) tellWaiting(st *stored.Stream, reason string) {
	for _, s := range b.allSessions() {
		for _, p := range s.publishers() {
			if p.tag.Stream() != st || !p.Account.Waiting() {
				continue
			}
			if s.noticeWait(clock.Now()) > 0 {
				break // it is told of many tags: the others wait for the same reason
			}
			s.notice(native.NoticeFrame{Tag: p.tag.ID, Code: native.CodeLimit, Reason: reason})
		}
	}
}

// promiseBroken reports whether the client was told of a tag that its messages are stored, and they are not any more.
func (s *session) promiseBroken() bool {
	return slices.ContainsFunc(s.publishers(), (*publisher).promiseBroken)
}

// publishers returns the session's publish grants.
func (s *session) publishers() []*publisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.published))
}

// PrepareLimits checks the limits and timeouts of next; zero values mean the defaults. The function that it returns puts
// them in place of those of the Config. MaxConnections and MaxTags apply at once: what is above them stays, and nothing is
// added. The others apply to connections that are accepted later. MaxFrame and CallStreamWindow cannot change, because a client
// could receive messages that it was told not to expect.
func (b *Broker) PrepareLimits(next Config) (set func(), err error) {
	cfg := b.cfg.Load()
	next.Identify, next.Formats, next.Log, next.Holder, next.Stored = cfg.Identify, cfg.Formats, cfg.Log, cfg.Holder, nil
	next.Node = cfg.Node
	if err := next.fill(); err != nil {
		return nil, err
	}
	if next.MaxFrame != cfg.MaxFrame {
		return nil, fmt.Errorf("broker: Config.MaxFrame cannot change from %d to %d while the broker runs", cfg.MaxFrame, next.MaxFrame)
	}
	if next.CallStreamWindow != cfg.CallStreamWindow {
		return nil, fmt.Errorf("broker: Config.CallStreamWindow cannot change from %d to %d while the broker runs", cfg.CallStreamWindow, next.CallStreamWindow)
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		next.Identify = b.cfg.Load().Identify
		b.setLimits(&next)
	}, nil
}

// setLimits stores cfg, which is complete. The caller holds the lock, except New.
func (b *Broker) setLimits(cfg *Config) {
	b.tags.limit = cfg.MaxTags
	if old := b.cfg.Load(); old == nil || old.MaxConnections != cfg.MaxConnections {
		slots := make(acceptSlots, 2*cfg.MaxConnections)
		b.acceptSlots.Store(&slots)
	}
	b.store.SetLimits(stored.Limits{Queue: cfg.StoreQueue, DurableWindow: cfg.DurableWindow, Holder: cfg.Holder, Log: cfg.Log})
	b.cfg.Store(cfg)
}
