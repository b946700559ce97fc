package broker

import (
	"slices"

	"example.com/ferry/internal/clock"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// Forwarder passes messages on to another node. Package forward has the implementation. All methods may overlap.
type Forwarder interface {
	// Tag returns where the messages of a tag go, or nil if the Forwarder does not forward the tag. It does not block, and calls no
	// method of the Broker.
	Tag(name string) ForwardedTag

	// Await calls done once all messages up to a position of ForwardedTag.Forward are safe: the other node has confirmed them,
	// they are on the disk, or they are dropped and counted. done may be called before Await returns.
	Await(position uint64, done func())

	// Full reports whether publishers should pause, because messages wait for the disk.
	Full() bool

	// AwaitRoom calls resume once Full is false. resume may be called before AwaitRoom returns. cancel releases resume, for a
	// publisher that leaves before; it calls nothing.
	AwaitRoom(resume func()) (cancel func())
}

// ForwardedTag passes on the messages of one tag.
type ForwardedTag interface {
	// Forward takes a run of n frames, which are valid during the call, and does not change them. path is where they come from;
	// nil means a client of this node. from is told of messages that are dropped because they can neither be sent nor stored. Forward
	// does not block. It may leave a stream unflushed in u. full is Full.
	Forward(run []byte, n int, path *native.Path, from Origin, u *peer.Unflushed) (position uint64, full bool)
}

// Origin is the publisher of forwarded messages.
type Origin interface {
	// Refused says that a Forwarder has dropped n messages after it had taken them. The Forwarder calls it before the calls of Await for
	// their positions, on any goroutine and without locks.
	Refused(n int, why error)
}

// Refused tells the client. If a stream stores the tag, the messages are stored though they are not forwarded, so the NOTICE does not
// name the tag: it would count as that of messages which are not stored.
func (p *publisher) Refused(n int, why error) {
	s := p.session
	v := native.NoticeFrame{Tag: p.tag.ID, Count: uint32(n), Code: native.CodeLimit, Reason: why.Error()}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ordersCredit() || p.left.Load() {
		v.Tag = native.ByName
	}
	s.notices.add(s, clock.Now(), v)
}

// SetForwarders replaces the Forwarders. Messages that arrive from now on go to those of the list whose Tag takes them.
func (b *Broker) SetForwarders(list []Forwarder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forwarders = slices.Clone(list)
	b.routeAge.Add(1)
}

// forwardTarget is where a route passes on the messages of its tag.
type forwardTarget struct {
	forwarder Forwarder
	tag       ForwardedTag
}

// forwardTargets returns the targets of a tag. The caller holds the lock.
func (b *Broker) forwardTargets(tag string) (targets []forwardTarget) {
	for _, f := range b.forwarders {
		if t := f.Tag(tag); t != nil {
			targets = append(targets, forwardTarget{f, t})
		}
	}
	return targets
}

// passedOn is the position of the last message of a stream of a client that a Forwarder has taken since the last PING.
type passedOn struct {
	forwarder Forwarder
	position  uint64
}

// forward passes a run on to the targets of its route.
func (r *receiver) forward(p *publisher, targets []forwardTarget, run []byte, n int) {
	for i := range targets {
		to := &targets[i]
		position, full := to.tag.Forward(run, n, r.path.route(), p, &r.unflushed)
		if full {
			p.awaitRoom(to.forwarder)
		}
		at := slices.IndexFunc(r.forwarded, func(f passedOn) bool { return f.forwarder == to.forwarder })
		if at < 0 {
			at = len(r.forwarded)
			r.forwarded = append(r.forwarded, passedOn{forwarder: to.forwarder})
		}
		r.forwarded[at].position = position
	}
}

// awaitForwarded makes the response to the next PING wait until what was forwarded since the last one is safe.
func (r *receiver) awaitForwarded() {
	c, s := r.confirmations, r.session
	for _, f := range r.forwarded {
		f.forwarder.Await(f.position, c.Await(func() { s.notices.send(s, clock.Now()) })) // of messages that it has refused
	}
	clear(r.forwarded)
	r.forwarded = r.forwarded[:0]
}

// awaitRoom withholds the credit of p until f has room.
func (p *publisher) awaitRoom(f Forwarder) {
	if hold := p.Account.HoldFor(f); hold != nil {
		hold.OnVacated(f.AwaitRoom(hold.Release))
	}
}

// awaitForwarders withholds the first credit of p while a Forwarder of its tag is full.
func (p *publisher) awaitForwarders() {
	b := p.session.listener.broker
	b.mu.Lock()
	targets := b.forwardTargets(p.tag.Name)
	b.mu.Unlock()
	for _, to := range targets {
		if to.forwarder.Full() {
			p.awaitRoom(to.forwarder)
		}
	}
}
