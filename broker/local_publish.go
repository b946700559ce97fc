package broker

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/broker/internal/routes"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// Batch publishes for Locals. Each goroutine that does has its own; it may be of any number of Locals of one Broker. Between Begin and
// End, messages are passed on, but slow peers may get them only at End.
type Batch struct {
	receiver *receiver
}

// NewBatch returns a Batch.
func NewBatch(b *Broker) *Batch {
	return &Batch{receiver: &receiver{matchers: routes.NewMatchers(b.formats), session: &session{listener: &Listener{broker: b}}}}
}

// Begin notes the time.
func (t *Batch) Begin() { t.receiver.BatchBegins() }

// End makes sure that all messages are on their way.
func (t *Batch) End() {
	t.receiver.BatchEnds()
}

// Publish publishes messages on the tag of to. It copies them. n says how many it has taken. If n is less than len(ms) and err is nil,
// there is no credit: LocalHandler.Ready is called when there is. err is a *native.Error that refuses message n; the caller may go on
// with the next one.
//
// stored, which may be nil, is called once for the n messages, unless n is 0: when all of them are stored, if a stream stores the tag at
// least once, or else before Publish returns. Its error says that they are not: a *RefusedError which of them, and any other all of them. It is called on
// any goroutine, with locks held.
// If the engine is closed before it has stored them, stored is never called.
func (t *Batch) Publish(to *LocalTag, ms []Message, stored func(error)) (n int, err error) {
	p := to.publisher
	r := t.receiver
	r.session = p.session
	var all *completion
	if stored != nil && p.ordersCredit() {
		all = &completion{stored: stored}
		all.left.Store(1)
	}
	for n < len(ms) && err == nil {
		taken := 0
		if taken, err = t.run(p, ms[n:], all, n); taken == 0 && err == nil && !to.await() {
			break
		}
		n += taken
	}
	switch {
	case n == 0 || stored == nil:
	case all == nil:
		stored(nil)
	default:
		all.end(0, nil)
	}
	return n, err
}

// await notes that the tag waits for credit. It returns true if there is credit now.
func (to *LocalTag) await() (ready bool) {
	to.starved.Store(true)
	return to.publisher.Account.Available() > 0 && to.starved.CompareAndSwap(true, false)
}

// run publishes the leading messages that make a run. If they are to be stored at least once, it adds them to all, where the first one has the index first;
// all may be nil. err refuses the message behind them.
func (t *Batch) run(p *publisher, ms []Message, all *completion, first int) (n int, err error) {
	r, s := t.receiver, p.session
	if s.client.(*Local).phase.Load() == localClosed { //nolint:forcetypeassert // a LocalTag is of a Local
		return 0, errClosed
	}
	if p.revoked.Load() {
		err := forbidden(s.identity.Load(), "publish on", p.tag.Name)
		t.drop(p, &ms[0], dropForbidden)
		return 0, err
	}
	st := p.tag.Stream()
	if st != nil {
		r.records.Reset()
	}
	credit := p.Account.Available()
	size := 0
	for i := 0; i < min(len(ms), maxRun) && size < credit; i++ {
		size += native.PubHeaderSize + len(ms[i].Extension) + len(ms[i].Payload) + 4
	}
	if size == 0 {
		return 0, nil
	}
	buf := bufpool.Get(size)
	defer buf.Release()
	last := 0
	for n < min(len(ms), maxRun) && len(buf.B) < credit {
		before := len(buf.B)
		if err = t.append(p, buf, &ms[n]); err != nil {
			break
		}
		f := native.Frame(buf.B[before:])
		if st != nil {
			if why := r.records.Add(st, p.tag.Name, f); why != nil {
				buf.B = buf.B[:before]
				err = &native.Error{Code: native.CodeBadRequest, Reason: why.Error()}
				t.drop(p, &ms[n], dropInvalid)
				break
			}
		}
		last = len(f)
		r.latencies.Add(r.now - f.Time())
		r.ends[n] = len(buf.B)
		n++
	}
	if n == 0 {
		return 0, err
	}
	if e := p.spend(len(buf.B), last); e != nil { // another goroutine has spent the credit
		return 0, nil
	}
	var done func(error)
	if all != nil && st != nil && st.AtLeastOnce() {
		all.left.Add(1)
		done = func(err error) { all.end(first, err) }
	}
	r.pass(p, st, buf.B, n, buf, done)
	return n, err
}

// append checks a message and appends its frame to buf.
func (t *Batch) append(p *publisher, buf *bufpool.Buf, m *Message) error {
	r := t.receiver
	limit := p.session.cfg.MaxFrame
	if n := native.PubHeaderSize + len(m.Extension) + 3 + len(m.Payload); n > limit || len(m.Extension) > native.MaxPubExtension {
		t.drop(p, m, dropInvalid)
		return &native.Error{Code: native.CodeTooLarge, Reason: fmt.Sprintf("a message of %d bytes with %d bytes of extension: at most %d and %d are accepted", n, len(m.Extension), limit, native.MaxPubExtension)}
	}
	flags, err := r.validatePayload(m.Type, p.tag.ID, m.Payload)
	if err == nil {
		err = native.CheckTLVs(m.Extension)
	}
	if err != nil {
		t.drop(p, m, dropInvalid)
		return &native.Error{Code: native.CodeInvalid, Reason: err.Error()}
	}
	h := native.PubHeader{Flags: flags, Type: m.Type, Tag: p.tag.ID, Source: p.session.id, Time: m.Time}
	if h.Time == 0 {
		h.Time = r.now
	}
	if len(m.Extension) == 0 {
		buf.B = native.AppendPub(buf.B, h, m.Payload)
	} else {
		before := len(buf.B)
		buf.B = native.AppendExtendedPub(buf.B, h, m.Extension, m.Payload)
		if !native.AcceptTLVs(native.Frame(buf.B[before:]).Extension(), false) {
			buf.B = buf.B[:before]
			p.logCycle()
			t.drop(p, m, dropCycle)
			return errCycle
		}
	}
	return nil
}

// drop counts a message that goes no further.
func (t *Batch) drop(p *publisher, m *Message, reason int) {
	p.tag.in.Add(1, native.PubHeaderSize+len(m.Payload))
	p.session.listener.broker.dropped[reason].Add(1)
}

// completion calls stored when several runs are stored.
type completion struct {
	stored func(error)
	left   atomic.Int32

	mu      sync.Mutex
	err     error // why whole runs are not stored
	refused RefusedError
}

// RefusedError says which messages of a Batch.Publish can never be stored. The others are.
type RefusedError struct {
	Messages []int // indices, ascending
	Why      *native.Error
}

func (e *RefusedError) Error() string { return e.Why.Error() }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Why }

// end says that a run whose first message has the index first is stored, or not.
func (c *completion) end(first int, err error) {
	c.mu.Lock()
	var r *ledger.Refusal
	switch {
	case err == nil:
	case errors.As(err, &r) && r.Messages != nil:
		for _, m := range r.Messages {
			c.refused.Messages = append(c.refused.Messages, first+m)
		}
		c.refused.Why = r.Why
	case c.err == nil:
		c.err = err
	}
	c.mu.Unlock()
	if c.left.Add(-1) > 0 {
		return
	}
	if err = c.err; err == nil && c.refused.Why != nil {
		slices.Sort(c.refused.Messages)
		err = &c.refused
	}
	c.stored(err)
}
