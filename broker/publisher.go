package broker

import (
	"fmt"
	"sync/atomic"
	"time"

	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/broker/internal/ranks"
	"example.com/ferry/broker/stored"
	"example.com/ferry/internal/clock"
	"example.com/ferry/protocol/native"
)

// publisher is the publish grant of one session for one tag. The client spends credit of its account with each message. The broker
// returns the credit once the message is routed, or stored. While a delivery queue with policy block is full, it returns nothing.
type publisher struct {
	stored.Grant
	session  *session
	tag      *tag
	local    atomic.Pointer[LocalTag] // of a client in the process, else nil
	revoked  atomic.Bool              // the identity may no longer publish on the tag: its messages are dropped
	promised atomic.Bool              // the client was told that CREDIT means that messages are stored
	left     atomic.Bool              // the client has given back the grant; changed with mu held
	carrier  atomic.Pointer[receiver] // of the stream that carries the messages; nil before the first

	mu      ranks.Mutex[ranks.Grant] // held while the client is told something with the number of the tag
	granted bool                     // the client has received its first window of credit
	waiting []native.ResultFrame     // results of TAGs that wait until nothing withholds the grant
}

var _ ledger.Client = (*publisher)(nil)

func newPublisher(s *session, t *tag) *publisher {
	p := &publisher{session: s, tag: t}
	p.Init(&t.Tag, p, s.cfg.Window)
	return p
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
		result.Stored = p.promised.Load()
		p.session.client.granted(p, []native.ResultFrame{result})
		return nil
	case len(p.waiting) == maxWaitingResults:
		p.mu.Unlock()
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("%d requests wait for tag %q already", maxWaitingResults, p.tag.Name)}
	}
	p.waiting = append(p.waiting, result)
	first := len(p.waiting) == 1
	p.mu.Unlock()
	if first {
		p.withholdFirst()
		p.Account.Request()
	}
	return nil
}

// withholdFirst withholds the first credit of p because of what is full already.
func (p *publisher) withholdFirst() {
	for _, q := range p.session.listener.broker.queuesOf(p.tag) {
		q.Restrain(&p.Account)
	}
	if st := p.tag.Stream(); st != nil {
		st.Restrain(&p.Account)
	}
	p.awaitForwarders()
}

// Granted sends the waiting results. They say what the grant promises now; PrepareStreams looks at that with the lock held.
func (p *publisher) Granted() {
	p.mu.Lock()
	p.promised.Store(p.session.connectedState != nil && p.isStored())
	results := p.waiting
	for i := range results {
		results[i].Stored = p.promised.Load()
	}
	p.granted, p.waiting = true, nil
	p.mu.Unlock()
	p.session.client.granted(p, results)
}

// Credit allows the client n more bytes.
func (p *publisher) Credit(n int) {
	if p.session.connectedState == nil {
		p.session.client.credit(p, n)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.left.Load() { // otherwise the number of the tag may mean another one
		p.session.client.credit(p, n)
	}
}

// NoticeWait is notices.take. A client in the process gets no NOTICEs, so there is nothing to wait for.
func (p *publisher) NoticeWait() time.Duration { return p.session.noticeWait(clock.Now()) }

// Notice sends a NOTICE. It names the tag only while the number of the tag is the client's.
func (p *publisher) Notice(n native.NoticeFrame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left.Load() {
		n.Tag = native.ByName
	}
	p.session.notice(n)
}

// leave ends the grant. What it has published is settled as before. The caller holds the broker's lock.
func (p *publisher) leave() {
	p.mu.Lock()
	p.left.Store(true)
	p.mu.Unlock()
	p.Account.Leave()
}

// spend subtracts n bytes, the length of a run whose last frame has last bytes. One frame may exceed the credit. After
// that the client needs new credit.
func (p *publisher) spend(n, last int) error {
	if credit, ok := p.Account.Spend(n, last); !ok {
		return &native.Error{Code: native.CodeCredit, Reason: fmt.Sprintf("%d bytes on tag %q with credit for %d", n, p.tag.Name, credit)}
	}
	return nil
}

// isStored reports whether a stream stores the tag at least once.
func (p *publisher) isStored() bool {
	st := p.tag.Stream()
	return st != nil && st.AtLeastOnce()
}

// ordersCredit reports whether credit returns in the order of the messages, because they are stored, or the client was told so.
func (p *publisher) ordersCredit() bool { return p.promised.Load() || p.isStored() }

// promiseBroken reports whether the client was told that messages are stored, and no stream stores them any more.
func (p *publisher) promiseBroken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.promised.Load() && !p.isStored()
}

// routed returns the credit of a run of n messages that is routed and not stored. forwarded: another node has passed it on, to which
// nothing was promised. c is of the stream of the connection; nil without a connection.
func (p *publisher) routed(n, bytes int, forwarded bool, c *ledger.Confirmations) {
	if !p.promised.Load() {
		p.Account.Routed(bytes)
		return
	}
	run := ledger.Run{Bytes: bytes, Confirmations: c}
	if !forwarded {
		run.Notice = native.NoticeFrame{
			Tag: p.tag.ID, Count: uint32(n), Code: native.CodeBadRequest, Reason: fmt.Sprintf("the node no longer stores %q: the messages are routed, and not stored", p.tag.Name),
		}
	}
	p.Account.Enter(run)
}

// skip returns the credit of a message that is not stored. If credit returns in order, it does behind that of the messages before it,
// and behind a notice if the message is dropped. It returns false if the notice is left to the caller.
func (p *publisher) skip(bytes int, notice native.NoticeFrame, c *ledger.Confirmations) bool {
	if !p.ordersCredit() {
		p.Account.Routed(bytes)
		return false
	}
	p.Account.Enter(ledger.Run{Bytes: bytes, Notice: notice, Confirmations: c})
	return true
}

// logCycle logs that a message of p came through too many functions.
func (p *publisher) logCycle() {
	if due, unlogged := p.session.listener.broker.cycles.next(time.Now()); due {
		p.session.Log().Warn("a message was dropped: functions publish what they observe", "tag", p.tag.Name, "functions", native.MaxFunctions, "unlogged", unlogged)
	}
}
