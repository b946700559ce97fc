package stored

import (
	"maps"
	"slices"
	"time"

	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/broker/internal/ranks"
	delivery "example.com/ferry/broker/stored/internal/durable"
	"example.com/ferry/engine"
	"example.com/ferry/protocol/native"
)

// Subs is the subscriptions of one client that read streams. All methods may overlap.
type Subs struct {
	mu   ranks.Mutex[ranks.Subs]
	byID map[uint32]*Sub // nil until used
}

// Add adds sub to the stream of st, or to its durable with a name, unless that is "". to is the stream to the client. The error is the
// reason of a refusal.
func (ss *Subs) Add(sub *Sub, st *Stream, durable string, to *outlet.Stream) (err error) {
	sub.of, sub.stored, sub.stream = ss, st, to
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if durable == "" {
		sub.replay = newReplay(sub)
	} else if sub.member, err = st.addMember(sub, durable); err != nil {
		return err
	}
	if ss.byID == nil {
		ss.byID = map[uint32]*Sub{}
	}
	ss.byID[sub.id] = sub
	return nil
}

// Begin announces a subscription, once, after Add: its RESULT goes before the first message.
func (ss *Subs) Begin(s *Sub) {
	switch {
	case s.member != nil:
		s.announceAfter(s.storeStart)
	case s.start.At == engine.AtNew:
		s.announceAfter(s.beginHere)
	case s.start.At == engine.AtSequence:
		s.announceAfter(s.notBehindNext)
	default:
		s.announce()
	}
}

// AddCredit allows n more bytes for the subscription with an id, if there is one.
func (ss *Subs) AddCredit(id uint32, n int) {
	switch s := ss.Get(id); {
	case s == nil:
	case s.member != nil:
		s.member.addCredit(n)
	default:
		s.replay.addCredit(n)
	}
}

// Len returns how many there are.
func (ss *Subs) Len() int {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return len(ss.byID)
}

// Get returns the one with an id, or nil.
func (ss *Subs) Get(id uint32) *Sub {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.byID[id]
}

func (ss *Subs) all() []*Sub {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return slices.Collect(maps.Values(ss.byID))
}

// End ends the subscription with an id, if there is one. tried says whether the client may have handled messages that it has neither
// acked nor refused.
func (ss *Subs) End(id uint32, tried bool) {
	ss.mu.Lock()
	sub := ss.byID[id]
	delete(ss.byID, id)
	ss.mu.Unlock()
	if sub != nil {
		sub.end(tried)
	}
}

// EndAll ends all subscriptions, because the client does.
func (ss *Subs) EndAll() {
	ss.mu.Lock()
	all := ss.byID
	ss.byID = nil
	ss.mu.Unlock()
	for _, sub := range all {
		sub.end(true)
	}
}

// Retire gives the client no further message of a stream. It can still ack those that it has.
func (ss *Subs) Retire() {
	for _, sub := range ss.all() {
		sub.retire()
	}
}

// Revoke ends the subscriptions whose filters the client may not read any more. forbidden returns the reason, or nil.
func (ss *Subs) Revoke(forbidden func(filter string) *native.Error) {
	for _, sub := range ss.all() {
		if why := forbidden(sub.filter); why != nil {
			sub.revoke(why)
		}
	}
}

// Held reports whether the client holds messages of durables.
func (ss *Subs) Held() bool {
	return slices.ContainsFunc(ss.all(), func(sub *Sub) bool { return sub.ofDurable().held() > 0 })
}

// Settle handles an ACK or NAK that arrived at the time now, as clock.Now. One of a subscription that has ended, or is a replay, has no
// effect.
func (ss *Subs) Settle(f native.Frame, now int64) error {
	if f.Kind() == native.Ack {
		v, err := native.ParseAck(f)
		m := ss.Get(v.Sub).ofDurable()
		switch {
		case err != nil:
			return err
		case v.InProgress:
			m.progress(now)
			return nil
		}
		return m.settleRanges(v.Ranges, now, func(w *delivery.Window, m *delivery.Member, r native.Range) { w.Ack(m, r.First, r.Count, now) })
	}
	v, err := native.ParseNak(f)
	if err != nil {
		return err
	}
	kind := NakRetry
	switch {
	case v.Flags&native.FlagReject != 0:
		kind = NakReject
	case v.Flags&native.FlagNotTried != 0:
		kind = NakUntried
	}
	return ss.Get(v.Sub).ofDurable().settleRanges(v.Ranges, now, func(w *delivery.Window, m *delivery.Member, r native.Range) {
		w.Nak(m, r.First, r.Count, kind, time.Duration(v.Delay)*time.Millisecond, v.Reason, now)
	})
}
