package broker

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/ferry/protocol/native"
)

// maxCredit bounds the credit of a subscription and tag, in bytes, however much the client grants.
const maxCredit = 1 << 30

// publisher is the publish grant of one session for one tag, with its credit. The client spends credit with each
// message. The broker returns the credit once the message is routed. While a delivery queue with policy block is full,
// the broker returns nothing.
type publisher struct {
	session   *session
	tag       *tag
	local     atomic.Pointer[LocalTag] // of a client in the process, else nil
	withholds atomic.Int32             // number of delivery queues that withhold the credit
	revoked   atomic.Bool              // the identity may no longer publish on the tag: its messages are dropped
	left      atomic.Bool              // the client has given back the grant
	carrier   atomic.Pointer[receiver] // of the stream that carries the messages; nil before the first

	mu       sync.Mutex
	granted  bool                 // the client has received its first window of credit
	waiting  []native.ResultFrame // results of TAGs that wait until no queue withholds the grant
	credit   int                  // bytes that the client may still publish; 0 until granted
	spent    int                  // bytes routed whose credit is not yet returned
	rooms    []*awaitedRoom       // of Forwarders that are full
	detached bool                 // the publisher has left: it awaits no room any more

	unstored unstored // used if the tag is stored at least once; spent is 0 then
}

// maxWaitingResults is the most TAGs of one session and tag that may wait for a grant.
const maxWaitingResults = 64

// grant sends the result of a TAG. The first grant waits while a delivery queue of the tag is blocked. Otherwise
// publishers could connect, spend their window and leave, again and again, and fill the queue beyond every bound.
func (p *publisher) grant(result native.ResultFrame) error {
	p.mu.Lock()
	switch {
	case p.granted:
		p.mu.Unlock()
		p.session.client.granted(p, []native.ResultFrame{result})
		return nil
	case len(p.waiting) == maxWaitingResults:
		p.mu.Unlock()
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("%d requests wait for tag %q already", maxWaitingResults, p.tag.name)}
	}
	p.waiting = append(p.waiting, result)
	first := len(p.waiting) == 1
	p.mu.Unlock()
	if first {
		p.withhold() // holds the grant until all queues were checked
		for _, q := range p.session.broker.queuesOf(p.tag) {
			q.stream.Lock()
			if q.blocked {
				q.withhold(p)
			}
			q.stream.unlock()
		}
		if st := p.tag.stored.Load(); st != nil {
			st.restrain(p)
		}
		p.awaitForwarders()
		p.resume()
	}
	return nil
}

// sendGrants gives the client its first window and sends the waiting results.
func (p *publisher) sendGrants() {
	p.mu.Lock()
	if p.granted {
		p.mu.Unlock()
		return
	}
	results := p.waiting
	p.granted, p.waiting = true, nil
	p.credit = p.session.cfg.Window
	p.mu.Unlock()
	p.session.client.granted(p, results)
}

// detach removes p from the queues and Forwarders that withhold its credit. It is called after the session has ended. The caller holds
// the broker's lock.
func (p *publisher) detach() {
	p.leaveForwarders()
	if p.withholds.Load() == 0 {
		return
	}
	if st := p.tag.stored.Load(); st != nil {
		st.forget(p)
	}
	for q := range p.tag.queues {
		q.stream.Lock()
		q.withheld = slices.DeleteFunc(q.withheld, func(other *publisher) bool { return other == p })
		q.stream.Unlock()
	}
}

// spend subtracts n bytes, the length of a run whose last frame has last bytes. One frame may exceed the credit. After
// that the client needs new credit.
func (p *publisher) spend(n, last int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.credit <= n-last {
		return &native.Error{Code: native.CodeCredit, Reason: fmt.Sprintf("%d bytes on tag %q with credit for %d", n, p.tag.name, p.credit)}
	}
	p.credit -= n
	p.spent += n
	return nil
}

// returnHalf returns the spent credit if it is at least half a window.
func (p *publisher) returnHalf() { p.returnCredit(p.session.cfg.Window / 2) }

func (p *publisher) withhold() { p.withholds.Add(1) }

// resume ends one withhold. The end of the last withhold sends the first grant, or returns the credit spent meanwhile.
func (p *publisher) resume() {
	if p.withholds.Add(-1) == 0 {
		p.sendGrants()
		p.returnCredit(1)
		p.unstored.mu.Lock()
		p.returnSettled()
		p.unstored.mu.Unlock()
	}
}

// returnCredit sends a CREDIT frame for the spent credit, if that is at least least bytes and no queue withholds it.
func (p *publisher) returnCredit(least int) {
	if p.withholds.Load() > 0 {
		return
	}
	p.mu.Lock()
	n := p.spent
	if n < least {
		p.mu.Unlock()
		return
	}
	p.spent = 0
	p.mu.Unlock()
	p.sendCredit(n)
}

// sendCredit allows the client n more bytes.
func (p *publisher) sendCredit(n int) {
	if p.left.Load() {
		return // the number of the tag may mean another one
	}
	p.mu.Lock()
	p.credit += n
	p.mu.Unlock()
	p.session.client.credit(p, n)
}

// unspend takes n bytes back that were spent: their credit returns in another way.
func (p *publisher) unspend(n int) {
	p.mu.Lock()
	p.spent -= n
	p.mu.Unlock()
}
