package broker

import (
	"sync"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/internal/clock"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// unstored has the messages of a publisher on an at-least-once tag whose credit has not returned. Credit and notices go to the client
// in the order of its messages, so that it knows which of them are stored.
type unstored struct {
	order sync.Mutex // held while a run is queued and appended, so that both have the same order

	mu      sync.Mutex
	runs    peer.FIFO[unstoredRun]
	next    int  // index of the first run that the engine has not reported
	settled int  // runs at the front that need no engine any more, and wait only while the credit is withheld
	closed  bool // the engine was closed before it had stored all: settled grows no more
	done    func(error)
	pausing bool // the connection has had its NOTICEs for now: a timer calls returnSettled
}

// unstoredRun is a run of messages that are to be stored, or of messages that are dropped or addressed to a client.
type unstoredRun struct {
	stream        *storedStream // nil: the run is not stored
	count, bytes  int
	notice        native.NoticeFrame // goes before the credit of the run, unless Count is 0
	confirmations *confirmations     // of the stream of the connection that the run arrived on; nil without a connection
	epoch         uint64             // in confirmations
	done          func(error)        // called when the run is stored, or refused; may be nil
}

// refusal returns why the engine stores some of the run never, or nil.
func (r *unstoredRun) refusal() error {
	if r.notice.Count == 0 {
		return nil
	}
	return &native.Error{Code: r.notice.Code, Reason: r.notice.Reason}
}

// ordersCredit reports whether the tag is stored at least once, so that credit returns in the order of the messages.
func (p *publisher) ordersCredit() bool {
	st := p.tag.stored.Load()
	return st != nil && st.config().AtLeastOnce
}

// append appends a run of records, whose frames have that many bytes, to the stream. The credit for it returns when the engine has
// stored it.
func (p *publisher) append(st *storedStream, list []engine.Record, bytes int, c *confirmations, done func(error)) {
	p.unspend(bytes)
	u := &p.unstored
	u.order.Lock()
	defer u.order.Unlock()
	u.mu.Lock()
	if u.done == nil {
		u.done = p.appended
	}
	u.runs.Push(unstoredRun{stream: st, count: len(list), bytes: bytes, confirmations: c, epoch: c.begin(), done: done})
	u.mu.Unlock()
	st.begin(p.tag, len(list), bytes)
	st.config().Stream.Append(list, u.done)
	if st.pending.Load() > int64(st.bound) {
		st.restrain(p)
	}
}

// appended is called by the engine at the end of each append, in order.
func (p *publisher) appended(err error) {
	u := &p.unstored
	u.mu.Lock()
	run := u.runs.All()[u.next]
	u.mu.Unlock()
	refused, ok := run.stream.end(p.tag, run.count, run.bytes, err)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = u.closed || !ok
	if refused != nil {
		u.runs.All()[u.next].notice = native.NoticeFrame{Tag: p.tag.id, Count: uint32(refused.Count), Code: native.CodeBadRequest, Reason: refused.Error()}
	}
	u.next++
	p.settle()
}

// skip queues the credit of a message that is not stored behind that of the messages before it, with a notice if it is dropped.
func (p *publisher) skip(bytes int, notice native.NoticeFrame, c *confirmations) {
	p.unspend(bytes)
	u := &p.unstored
	u.order.Lock()
	defer u.order.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := u.runs.Len(); n > 0 {
		last := u.runs.Back()
		if last.stream == nil && last.notice.Code == notice.Code && last.confirmations == c && c.current(last.epoch) {
			last.bytes += bytes
			last.notice.Count += notice.Count
			return
		}
	}
	u.runs.Push(unstoredRun{bytes: bytes, notice: notice, confirmations: c, epoch: c.begin()})
	p.settle()
}

// settle notes which runs need no engine any more, and returns their credit. The caller holds the lock of p.unstored.
func (p *publisher) settle() {
	u := &p.unstored
	for u.next < u.runs.Len() && u.runs.All()[u.next].stream == nil {
		u.next++
	}
	if !u.closed {
		u.settled = u.next
	}
	p.returnSettled()
}

// returnSettled sends the notices and the credit of the settled runs, unless the credit is withheld. A notice keeps its place in the
// order of the messages, so when the connection has had too many of them, the credit behind it waits, too, and slows the publisher
// down. The caller holds the lock of p.unstored.
func (p *publisher) returnSettled() {
	u := &p.unstored
	bytes := 0
	send := func() {
		if bytes > 0 {
			p.sendCredit(bytes)
			bytes = 0
		}
	}
	for u.settled > 0 && p.withholds.Load() == 0 {
		if u.runs.Front().notice.Count > 0 && !p.mayNotice() {
			break
		}
		run := u.runs.Pop()
		u.settled--
		u.next--
		if run.notice.Count > 0 {
			send()
			p.session.notice(run.notice)
		}
		bytes += run.bytes
		if run.confirmations != nil {
			run.confirmations.end(run.epoch, send)
		}
		if run.done != nil {
			run.done(run.refusal())
		}
	}
	send()
}

// mayNotice reports whether a NOTICE of the publisher may be sent now. Otherwise a timer calls returnSettled when it may. The caller
// holds the lock of p.unstored.
func (p *publisher) mayNotice() bool {
	u := &p.unstored
	if u.pausing {
		return false
	}
	wait := p.session.noticeWait(clock.Now())
	if wait == 0 {
		return true
	}
	u.pausing = true
	time.AfterFunc(wait, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.pausing = false
		p.returnSettled()
	})
	return false
}

// waiting reports whether messages of the publisher wait to be stored.
func (u *unstored) waiting() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.next < u.runs.Len()
}
