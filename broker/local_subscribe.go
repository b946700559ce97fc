package broker

import (
	"errors"
	"sync/atomic"

	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/broker/stored"
	"example.com/ferry/protocol/native"
)

// LocalSubConfig is what a Local subscribes to.
type LocalSubConfig struct {
	Filter string        // of tags
	Where  string        // predicate; "" matches every message
	Group  string        // name of the consumer group; "" means none
	Policy native.Policy // what happens to messages above Queue
	Queue  int           // bytes of each tag that may be queued; 0 means Config.Queue

	Durable string       // name of the durable; "" means none
	Start   native.Start // StartLive means a subscription that reads no stream, unless Durable is set
	Value   uint64       // sequence number or Unix time in nanoseconds, as Start says

	User any // the caller's
}

// LocalSub is a subscription of a Local. All methods may overlap. Like those of Local, they must not be called in a method of the
// LocalHandler that is called with locks held.
type LocalSub struct {
	*stored.Sub // acks messages of a durable; nil unless the subscription reads a stream

	client *Local
	cfg    LocalSubConfig
	id     uint32
}

// NakKind says why a member of a durable has not handled a message.
type NakKind = stored.NakKind

// The kinds: the message is delivered again later; never again, but is a dead letter; or again at once, without being counted.
const (
	NakRetry   = stored.NakRetry
	NakReject  = stored.NakReject
	NakUntried = stored.NakUntried
)

// Subscribe adds a subscription. Messages may be delivered before it returns. A subscription that reads a stream begins when
// LocalHandler.Opened is called. The error is a *native.Error.
func (c *Local) Subscribe(cfg LocalSubConfig) (*LocalSub, error) {
	l := &LocalSub{client: c, cfg: cfg, id: c.lastSub.Add(1)}
	s := c.session
	v := native.SubFrame{
		ID: l.id, Filter: cfg.Filter, Where: cfg.Where, Group: cfg.Group, Policy: cfg.Policy, Window: outlet.MaxCredit, Queue: uint32(max(cfg.Queue, 0)),
		Durable: cfg.Durable, Start: cfg.Start, Value: cfg.Value,
	}
	var err error
	if v.Stored() {
		err = s.subscribeStored(v, l)
	} else {
		s.mu.Lock()
		if s.subs == nil {
			s.subs = map[uint32]*subscription{}
		}
		s.mu.Unlock()
		err = s.subscribe(v, l)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Config returns what the subscription was made with.
func (l *LocalSub) Config() LocalSubConfig { return l.cfg }

// User returns LocalSubConfig.User.
func (l *LocalSub) User() any { return l.cfg.User }

// Close ends the subscription. tried says whether the client may have handled messages of a durable that it has neither acked nor
// refused: these count as delivered.
func (l *LocalSub) Close(tried bool) { l.client.session.unsubscribe(l.id, tried) }

// LocalTag is the grant of a Local to publish on a tag. All methods may overlap.
type LocalTag struct {
	client    *Local
	publisher *publisher
	starved   atomic.Bool // Publish has taken fewer messages than it was given
}

var errClosed = &native.Error{Code: native.CodeDraining, Reason: "the client was closed"}

// Tag returns the grant for a tag, the same one until LocalTag.Close. The error is a *native.Error.
func (c *Local) Tag(name string) (*LocalTag, error) {
	p, err := c.session.publisherOf(name)
	if err != nil {
		return nil, err
	}
	t := p.local.Load()
	if t == nil {
		t = &LocalTag{client: c, publisher: p}
		if !p.local.CompareAndSwap(nil, t) {
			t = p.local.Load()
		}
	}
	if err := p.grant(native.ResultFrame{Kind: native.Tag}); err != nil {
		var e *native.Error
		if !errors.As(err, &e) || e.Code != native.CodeLimit { // the grant waits already
			return nil, err
		}
	}
	return t, nil
}

// Name returns the tag.
func (t *LocalTag) Name() string { return t.publisher.tag.Name }

// AtLeastOnce reports whether a stream stores the tag at least once.
func (t *LocalTag) AtLeastOnce() bool { return t.publisher.ordersCredit() }

// Close gives the grant back. Messages that wait to be stored are stored.
func (t *LocalTag) Close() {
	s, p := t.client.session, t.publisher
	b := s.listener.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	s.mu.Lock()
	own := s.published[p.tag.ID] == p
	if own {
		delete(s.published, p.tag.ID)
	}
	s.mu.Unlock()
	if own {
		p.leave()
		b.tags.release(p.tag)
	}
}
