package web

import (
	"slices"
	"sync/atomic"
	"time"

	"example.com/ferry/broker"
)

// publisher is the client of the broker for the requests of a loop that have one token or certificate.
type publisher struct {
	ls       *loopState
	key      string // in loopState.clients
	local    *broker.Local
	tags     map[string]*tag
	requests int           // in progress
	used     time.Duration // when a request last began, as Loop.Now
	leaving  bool          // the broker drains
	ended    atomic.Bool
}

var _ broker.LocalHandler = (*publisher)(nil)

// tag is a grant to publish.
type tag struct {
	grant    *broker.LocalTag
	requests int           // in progress
	used     time.Duration // as publisher.used
	waiting  []*request    // for credit
}

// tag returns the grant for a tag. The error is a *native.Error.
func (p *publisher) tag(name []byte) (*tag, error) {
	t := p.tags[string(name)]
	if t == nil {
		grant, err := p.local.Tag(string(name))
		if err != nil {
			return nil, err
		}
		t = &tag{grant: grant}
		p.tags[grant.Name()] = t
	}
	t.used = p.ls.Now()
	return t, nil
}

// enter counts a request that publishes on t.
func (p *publisher) enter(t *tag) {
	p.requests++
	t.requests++
}

func (p *publisher) leave(t *tag, r *request) {
	p.requests--
	t.requests--
	t.waiting = slices.DeleteFunc(t.waiting, func(other *request) bool { return other == r })
	p.leaveIfUnused()
}

func (p *publisher) leaveIfUnused() {
	if p.leaving && p.requests == 0 {
		p.local.Close()
		p.ended.Store(true)
	}
}

// Deliver is not called: the client does not subscribe.
func (p *publisher) Deliver(_ *broker.LocalSub, run *broker.Run) int { return run.Len() }

// Flush is not called either.
func (p *publisher) Flush() {}

// Opened is not called either.
func (p *publisher) Opened(*broker.LocalSub) {}

// Ended is not called either.
func (p *publisher) Ended(*broker.LocalSub, error) {}

// Ready lets the requests that wait for credit go on.
func (p *publisher) Ready(grant *broker.LocalTag) {
	p.ls.Notify(func() {
		t := p.tags[grant.Name()]
		if t == nil {
			return
		}
		waiting := t.waiting
		t.waiting = nil
		for _, r := range waiting {
			r.goOn()
		}
	})
}

// Drain ends the client when its requests have ended.
func (p *publisher) Drain(string) {
	p.ls.Notify(func() {
		p.leaving = true
		p.leaveIfUnused()
	})
}

// Closed notes that the next request needs another client.
func (p *publisher) Closed(error) {
	p.ended.Store(true)
	p.ls.Notify(func() {
		for _, t := range p.tags {
			waiting := t.waiting
			t.waiting = nil
			for _, r := range waiting {
				r.goOn()
			}
		}
	})
}
