package broker

import (
	"fmt"
	"math/bits"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker/calls"
	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/broker/internal/routes"
	"example.com/ferry/broker/stats"
	"example.com/ferry/broker/stored"
	"example.com/ferry/format"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/clock"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// maxRun is the most frames that are routed together. A mask has one bit for each of them.
const maxRun = 64

// minSharedRun is the least length, in bytes, of a run that is copied once and then shared by several subscriptions.
const minSharedRun = 8 << 10

// receiver handles the frames of one stream of a client.
type receiver struct {
	session   *session
	matchers  routes.Matchers
	last      *publisher // publisher of the last run
	unflushed peer.Unflushed
	now       int64            // when the batch arrived, in Unix nanoseconds
	elapsed   int64            // the same, as clock.Now
	ends      [maxRun]int      // offsets at which the frames of the run end
	masks     []uint64         // indexed by predicate of the route; bit i is the result for frame i of the run
	addressed []*deliveryQueue // reused by routeAddressed
	latencies stats.Samples

	paths     []*arrivalPath // by number
	path      *arrivalPath   // of the run; nil if it is the client's own
	forwarded []passedOn     // since the last PING

	validators *validators // lent for the batch; nil until it validates a message
	validated  uint64      // messages validated in the batch

	records       stored.Records // of the run, if its tag is stored
	confirmations *ledger.Confirmations

	calls calls.Receiver
}

func newReceiver(s *session) *receiver {
	return &receiver{session: s, matchers: routes.NewMatchers(s.listener.broker.formats), confirmations: ledger.NewConfirmations(s.pong), calls: s.calls.NewReceiver()}
}

// BatchBegins stores the time at which a batch arrived.
func (r *receiver) BatchBegins() {
	now := time.Now()
	r.now, r.elapsed = now.UnixNano(), clock.At(now)
}

// BatchEnds flushes the streams that the batch has appended to, and publishes the batch's latencies.
func (r *receiver) BatchEnds() {
	r.unflushed.Flush()
	r.latencies.MoveTo(&r.session.listener.broker.latency)
	r.returnValidators()
	if r.validated > 0 {
		r.session.listener.broker.validated.Add(r.validated)
		r.validated = 0
	}
}

// BeforePong sends the pending NOTICEs: the client expects them before the response to its PING. It returns false if messages before
// the PING wait to be stored or forwarded. Value 0 is a heartbeat, which confirms nothing.
func (r *receiver) BeforePong(value uint64) bool {
	r.session.notices.send(r.session, r.elapsed)
	if value != 0 && len(r.forwarded) > 0 {
		r.awaitForwarded()
	}
	if value == 0 {
		return true
	}
	now, err := r.confirmations.Ping(value)
	if err != nil {
		r.session.peer.Close(err)
	}
	return now
}

// Pubs routes the leading frames of batch that share a tag. It returns their length in bytes.
func (r *receiver) Pubs(batch []byte, shared *bufpool.Buf) (int, error) {
	first := native.Frame(batch)
	p := r.last
	if p == nil || p.tag.ID != first.Tag() || p.left.Load() {
		if p = r.session.publisher(first.Tag()); p == nil {
			return 0, &native.Error{Code: native.CodeForbidden, Reason: fmt.Sprintf("PUB on tag number %d, which this connection did not get", first.Tag())}
		}
		if !p.carriedBy(r) {
			return 0, otherStream(first.Tag())
		}
		r.last = p
	}
	if p.revoked.Load() {
		f := native.Frame(batch[:native.Size(batch)])
		return len(f), r.dropForbidden(p, f)
	}
	if first.Flags()&native.FlagAddressed != 0 {
		return r.routeAddressed(p, native.Frame(batch[:native.Size(batch)]), shared)
	}
	path, err := r.pathOf(first)
	if err != nil {
		return 0, err
	}
	if r.path = path; path != nil && path.dropAs != dropReasons {
		f := native.Frame(batch[:native.Size(batch)])
		return len(f), r.dropPath(p, f, path.dropAs)
	}
	source := uint32(first.Source())
	st := p.tag.Stream()
	if st != nil {
		r.records.Reset()
	}
	n, end := 0, 0 // number of frames in the run, and the offset of its end
	for n < maxRun && len(batch)-end > 0 {
		f := native.Frame(batch[end : end+native.Size(batch[end:])])
		if f.Kind() != native.Pub || f.Tag() != p.tag.ID || f.Flags()&native.FlagAddressed != 0 {
			break
		}
		forwarded := f.Flags()&native.FlagForwarded != 0
		if (forwarded || path != nil || uint32(f.Source()) != source) && !r.samePath(f, path, source) {
			break // the next run begins with this frame
		}
		if err := r.validate(f); err != nil {
			if n > 0 {
				break
			}
			return len(f), r.dropInvalid(p, f, err)
		}
		if st != nil {
			if err := r.records.Add(st, p.tag.Name, f); err != nil {
				if n > 0 {
					break
				}
				return len(f), r.drop(p, f, dropInvalid, native.NoticeFrame{Tag: p.tag.ID, Count: 1, Code: native.CodeBadRequest, Reason: err.Error()})
			}
		}
		if forwarded {
			f.SetFlags(f.Flags() &^ native.FlagForwarded)
		}
		if path != nil {
			f.SetSource(uint32(r.session.id))
		}
		r.latencies.Add(r.now - f.Time())
		end += len(f)
		r.ends[n] = end
		n++
	}
	last := end
	if n > 1 {
		last -= r.ends[n-2]
	}
	if err := p.spend(end, last); err != nil {
		return 0, err
	}
	r.pass(p, st, batch[:end], n, shared, nil)
	return end, nil
}

// pass stores and routes a run of n frames whose credit is spent. st is the stream of the tag, or nil; r.records has the run then. done,
// which may be nil, is called when a stream has stored the run at least once.
func (r *receiver) pass(p *publisher, st *stored.Stream, run []byte, n int, shared *bufpool.Buf, done func(error)) {
	kept, confirmed := false, false
	if st != nil {
		kept, confirmed = p.Store(st, &r.records, len(run), r.confirmations, done)
	}
	r.route(p, run, n, kept, shared)
	if !confirmed {
		p.routed(n, len(run), r.path != nil, r.confirmations)
	}
}

// errCycle refuses a message that has come through too many functions.
var errCycle = &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf("the message has come through %d functions: they publish what they observe", native.MaxFunctions)}

// validate checks the payload of f as the listener is configured, and sets the flags of f accordingly. It removes what a client could
// forge from the extension of f, and counts the functions that the message has come through. It keeps FlagForwarded: a frame that is refused behind others of its run is read again.
func (r *receiver) validate(f native.Frame) error {
	if f.HasExtension() && !native.AcceptTLVs(f.Extension(), f.Flags()&native.FlagForwarded != 0) {
		return errCycle
	}
	if f.Flags()&native.FlagValid != 0 && r.session.identity.Load().TrustValidation {
		f.SetFlags(f.Flags() & (native.FlagAddressed | native.FlagForwarded | native.FlagValid))
		return nil
	}
	flags, err := r.validatePayload(f.Type(), f.Tag(), f.Payload())
	f.SetFlags(f.Flags()&(native.FlagAddressed|native.FlagForwarded) | flags)
	return err
}

// validatePayload checks a payload of a tag as the listener is configured. It returns FlagValid if that was in full.
func (r *receiver) validatePayload(t ferry.Type, tag uint32, payload []byte) (flags byte, err error) {
	how := r.session.listener.validation()
	if how == ValidateFull {
		if v := r.validatorOf(t); v != nil {
			r.validated++
			if err := v.Validate(payload, tag); err != nil {
				return 0, err
			}
			return native.FlagValid, nil
		}
	}
	ft := r.session.listener.broker.formats[t]
	if ft == nil || how == ValidateOff {
		return 0, nil
	}
	r.validated++
	if how == ValidateBounds {
		return 0, ft.Validate(payload, format.Options{BoundsOnly: true})
	}
	if err := ft.Validate(payload, format.Options{}); err != nil {
		return 0, err
	}
	return native.FlagValid, nil
}

// dropInvalid drops a frame that validate has refused.
func (r *receiver) dropInvalid(p *publisher, f native.Frame, why error) error {
	if why == errCycle { //nolint:errorlint // validate does not wrap it
		p.logCycle()
		return r.drop(p, f, dropCycle, native.NoticeFrame{Tag: p.tag.ID, Count: 1, Code: errCycle.Code, Reason: errCycle.Reason})
	}
	return r.drop(p, f, dropInvalid, native.NoticeFrame{Tag: p.tag.ID, Count: 1, Code: native.CodeInvalid, Reason: why.Error()})
}

// dropForbidden drops a frame whose publisher has lost its grant. Another connection of the identity would be refused, but
// this one may still publish on its other tags.
func (r *receiver) dropForbidden(p *publisher, f native.Frame) error {
	why := fmt.Sprintf("identity %q may no longer publish on %q", r.session.identity.Load().Name, p.tag.Name)
	return r.drop(p, f, dropForbidden, native.NoticeFrame{Tag: p.tag.ID, Count: 1, Code: native.CodeForbidden, Reason: why})
}

// drop counts a frame that goes no further, and adds a notice for its publisher.
func (r *receiver) drop(p *publisher, f native.Frame, reason int, notice native.NoticeFrame) error {
	if err := p.spend(len(f), len(f)); err != nil {
		return err
	}
	p.tag.in.Add(1, len(f))
	r.session.listener.broker.dropped[reason].Add(1)
	if !p.skip(len(f), notice, r.confirmations) {
		r.session.notices.add(r.session, r.elapsed, notice)
	}
	return nil
}

// route delivers a run of n frames to the targets in the route of its tag. A run that the engine stores is not lost without a target.
func (r *receiver) route(p *publisher, run []byte, n int, kept bool, shared *bufpool.Buf) {
	b := r.session.listener.broker
	p.tag.in.Add(n, len(run))
	rt := b.routeOf(p.tag)
	if len(rt.forwards) > 0 {
		r.forward(p, rt.forwards, run, n)
		kept = true // it is not lost without a subscriber
	}
	if rt.empty() {
		if !kept {
			b.dropped[dropUnobserved].Add(uint64(n))
		}
		return
	}
	r.evaluate(rt, run, n)
	if len(rt.indexes) > 0 {
		r.routeIndexed(rt, p, run, n, shared)
		return
	}
	if shared == nil && len(rt.ungrouped) > 1 && len(run) >= minSharedRun {
		shared = share(run)
		run = shared.B
		defer shared.Release()
	}
	r.deliverListed(rt, p, run, n, shared)
	for _, g := range rt.groups {
		for i := range n {
			b.deliverToGroup(g, r.between(run, i, i+1), shared, p, &r.unflushed, func(predicate int) bool { return r.masks[predicate]>>i&1 != 0 })
		}
	}
}

// share copies a run to a buffer that several subscriptions share.
func share(run []byte) *bufpool.Buf {
	shared := bufpool.Get(len(run))
	shared.B = append(shared.B, run...)
	return shared
}

// deliverListed delivers a run of n frames to the targets without a group that rt lists.
func (r *receiver) deliverListed(rt *route, p *publisher, run []byte, n int, shared *bufpool.Buf) {
	all := ^uint64(0) >> (maxRun - n)
	for i := range rt.ungrouped {
		to := &rt.ungrouped[i]
		mask := all
		if to.predicate >= 0 {
			mask = r.masks[to.predicate]
		}
		r.deliverMask(to.queue, mask, p, run, shared)
	}
}

// deliverMask delivers the frames of run whose bits are set in mask to q.
func (r *receiver) deliverMask(q *deliveryQueue, mask uint64, p *publisher, run []byte, shared *bufpool.Buf) {
	b := r.session.listener.broker
	for mask != 0 { // adjacent set bits stand for adjacent frames, which are delivered together
		from := bits.TrailingZeros64(mask)
		end := from + bits.TrailingZeros64(^(mask >> from))
		b.countSubscriberGone(b.deliver(q, r.between(run, from, end), end-from, shared, p, &r.unflushed))
		if end >= maxRun {
			break
		}
		mask &^= 1<<end - 1
	}
}

// routeIndexed is route for a tag with indexes. r.masks has the results of the predicates that rt lists.
func (r *receiver) routeIndexed(rt *route, p *publisher, run []byte, n int, shared *bufpool.Buf) {
	b := r.session.listener.broker
	m := matchesPool.Get().(*matches)
	defer m.release()
	for _, ix := range rt.indexes {
		ix.match(run, r.ends[:n], m)
	}
	if m.mismatches > 0 {
		b.mismatched.Add(uint64(m.mismatches))
	}
	if shared == nil && len(rt.ungrouped)+len(m.ungrouped) > 1 && len(run) >= minSharedRun {
		shared = share(run)
		run = shared.B
		defer shared.Release()
	}
	r.deliverListed(rt, p, run, n, shared)
	for _, to := range m.ungrouped {
		if q := to.sub.queueFor(p.tag); q != nil {
			r.deliverMask(q, to.mask, p, run, shared)
		} else {
			b.countSubscriberGone(bits.OnesCount64(to.mask))
		}
	}
	for _, g := range rt.groups {
		m.addListed(g, r.masks, n)
	}
	m.groups(func(members []groupMatch) {
		for i := range n {
			count, queue := membersFor(members, i, p.tag)
			if count > 0 && !b.deliverToOne(members[0].turn, count, queue, r.between(run, i, i+1), shared, p, &r.unflushed) {
				b.countSubscriberGone(1)
			}
		}
	})
}

// between returns the frames i of run with from <= i < end.
func (r *receiver) between(run []byte, from, end int) []byte {
	start := 0
	if from > 0 {
		start = r.ends[from-1]
	}
	return run[start:r.ends[end-1]]
}

// evaluate evaluates each predicate of the route for each of the run's n frames. It stores the results in masks.
func (r *receiver) evaluate(rt *route, run []byte, n int) {
	r.masks = r.masks[:0]
	mismatches := 0
	for _, p := range rt.predicates {
		var mask uint64
		start := 0
		for i := range n {
			f := native.Frame(run[start:r.ends[i]])
			ok, mismatch := r.matchers.Match(p, f.Type(), f.Payload())
			if ok {
				mask |= 1 << i
			}
			if mismatch {
				mismatches++
			}
			start = r.ends[i]
		}
		r.masks = append(r.masks, mask)
	}
	if mismatches > 0 {
		r.session.listener.broker.mismatched.Add(uint64(mismatches))
	}
}

// routeAddressed delivers one frame to the source in its address.
func (r *receiver) routeAddressed(p *publisher, f native.Frame, shared *bufpool.Buf) (int, error) {
	b := r.session.listener.broker
	if identity := r.session.identity.Load(); identity.Forward {
		return 0, &native.Error{Code: native.CodeForbidden, Reason: fmt.Sprintf("identity %q forwards messages, so it may not address clients", identity.Name)}
	}
	if err := r.validate(f); err != nil {
		return len(f), r.dropInvalid(p, f, err)
	}
	f.SetFlags(f.Flags() &^ native.FlagForwarded)
	if err := p.spend(len(f), len(f)); err != nil {
		return 0, err
	}
	p.tag.in.Add(1, len(f))
	r.latencies.Add(r.now - f.Time())
	r.addressed = b.addressedQueues(r.addressed[:0], f.Source(), p.tag)
	if len(r.addressed) == 0 {
		b.dropped[dropNoAddressee].Add(1)
	}
	for _, q := range r.addressed {
		if q.sub.predicate != nil {
			ok, mismatch := r.matchers.Match(q.sub.predicate, f.Type(), f.Payload())
			if mismatch {
				b.mismatched.Add(1)
			}
			if !ok {
				continue
			}
		}
		b.countSubscriberGone(b.deliver(q, f, 1, shared, p, &r.unflushed))
	}
	clear(r.addressed)
	p.skip(len(f), native.NoticeFrame{}, r.confirmations)
	return len(f), nil
}
