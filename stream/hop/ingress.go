package hop

import (
	"fmt"
	"math/bits"
	"time"

	"example.com/ferry/format"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// maxRun is how many frames are routed at once: one bit each in a predicate's mask.
const maxRun = 64

// shareRun is the size in bytes from which a run that goes to several lanes is copied once and shared among them.
const shareRun = 8 << 10

// reader forwards what arrives on one stream of a session.
type reader struct {
	s        *session
	matchers matchers
	last     publisher // of the last run
	touched  touched   // outlets that the batch has left something in
	ends     [maxRun]int
	masks    []uint64
	lanes    []*lane // scratch of back
	latency  [LatencyBuckets]uint32
	sum      int64
	observed int   // messages in latency
	now      int64 // Unix nanoseconds when the batch arrived
	notice   native.NoticeFrame
	noticed  int64 // when the last notice was sent
}

func newReader(s *session) *reader {
	return &reader{s: s, matchers: newMatchers(s.hop.formats)}
}

// BatchBegins notes the time at which a batch arrived.
func (r *reader) BatchBegins() { r.now = time.Now().UnixNano() }

// BatchEnds writes to the quiet streams that the batch has left frames in.
func (r *reader) BatchEnds() {
	r.touched.flush()
	r.account()
}

// BeforePong sends the notice that is held back: it comes before the answer to a PING.
func (r *reader) BeforePong() { r.tellNotice() }

// Pubs routes the leading frames of batch that share a tag, and returns their length.
func (r *reader) Pubs(batch []byte, own *bufpool.Buf) (int, error) {
	first := native.Frame(batch)
	p := r.last
	if p == nil || p.tag.id != first.Tag() {
		if p = r.s.publisher(first.Tag()); p == nil {
			return 0, &native.Error{Code: native.CodeForbidden, Reason: fmt.Sprintf("PUB on tag number %d, which this connection did not get", first.Tag())}
		}
		r.last = p
	}
	if first.Flags()&native.FlagAddressed != 0 {
		return r.back(p, native.Frame(batch[:native.Size(batch)]), own)
	}
	n, end := 0, 0 // frames, and where they end
	for n < maxRun && len(batch)-end > 0 {
		f := native.Frame(batch[end : end+native.Size(batch[end:])])
		if f.Kind() != native.Pub || f.Tag() != p.tag.id || f.Flags()&native.FlagAddressed != 0 {
			break
		}
		if f.Source() != r.s.id {
			return 0, &native.Error{Code: native.CodeForbidden, Reason: fmt.Sprintf("PUB in the name of source %d by source %d", f.Source(), r.s.id)}
		}
		if err := r.check(f); err != nil {
			if n > 0 {
				break // the run so far first; the next one begins with this frame
			}
			return len(f), r.refuse(p, f, err)
		}
		r.observe(r.now - f.Time())
		end += len(f)
		r.ends[n] = end
		n++
	}
	last := end
	if n > 1 {
		last -= r.ends[n-2]
	}
	if err := p.charge(end, last); err != nil {
		return 0, err
	}
	r.forward(p, batch[:end], n, own)
	p.settle()
	return end, nil
}

// check validates f's payload as its listener says, and marks the frame with what was done.
func (r *reader) check(f native.Frame) error {
	mark := f.Flags() & native.FlagAddressed
	if ft := r.s.hop.formats[f.Type()]; ft != nil && r.s.validate != ValidateOff {
		if err := ft.Validate(f.Payload(), format.Options{BoundsOnly: r.s.validate == ValidateBounds}); err != nil {
			return err
		}
		if r.s.validate == ValidateFull {
			mark |= native.FlagValid
		}
	}
	f.SetFlags(mark)
	return nil
}

// refuse drops a frame whose payload is invalid, counts it and has its publisher told.
func (r *reader) refuse(p publisher, f native.Frame, why error) error {
	if err := p.charge(len(f), len(f)); err != nil {
		return err
	}
	p.tag.in.add(1, len(f))
	r.s.hop.dropped[dropInvalid].Add(1)
	r.note(p.tag.id, native.CodeInvalid, why.Error())
	p.settle()
	return nil
}

// forward hands a run of n frames to everybody its tag's route names.
func (r *reader) forward(p publisher, run []byte, n int, own *bufpool.Buf) {
	h := r.s.hop
	p.tag.in.add(n, len(run))
	rt := h.routeOf(p.tag)
	if len(rt.solo)+len(rt.groups) == 0 {
		h.dropped[dropUnobserved].Add(uint64(n))
		return
	}
	r.evaluate(rt, run, n)
	if own == nil && len(rt.solo) > 1 && len(run) >= shareRun {
		own = bufpool.Get(len(run))
		own.B = append(own.B, run...)
		run = own.B
		defer own.Release()
	}
	all := ^uint64(0) >> (maxRun - n)
	for i := range rt.solo {
		t := &rt.solo[i]
		mask := all
		if t.pred >= 0 {
			mask = r.masks[t.pred]
		}
		for mask != 0 { // each row of set bits is frames side by side
			from := bits.TrailingZeros64(mask)
			to := from + bits.TrailingZeros64(^(mask >> from))
			h.gone(h.deliver(t.lane, r.between(run, from, to), to-from, own, p, &r.touched))
			if to >= maxRun {
				break
			}
			mask &^= 1<<to - 1
		}
	}
	for _, g := range rt.groups {
		for i := range n {
			h.deliverOne(g, r.between(run, i, i+1), own, p, &r.touched, func(pred int) bool { return r.masks[pred]>>i&1 != 0 })
		}
	}
}

// between returns the frames from <= i < to of run.
func (r *reader) between(run []byte, from, to int) []byte {
	start := 0
	if from > 0 {
		start = r.ends[from-1]
	}
	return run[start:r.ends[to-1]]
}

// evaluate asks each predicate of the route about each frame once.
func (r *reader) evaluate(rt *route, run []byte, n int) {
	r.masks = r.masks[:0]
	odd := 0
	for _, pred := range rt.preds {
		var mask uint64
		start := 0
		for i := range n {
			ok, o := r.matchers.match(pred, native.Frame(run[start:r.ends[i]]))
			if ok {
				mask |= 1 << i
			}
			if o {
				odd++
			}
			start = r.ends[i]
		}
		r.masks = append(r.masks, mask)
	}
	if odd > 0 {
		r.s.hop.mismatched.Add(uint64(odd))
	}
}

// back routes one frame to the source it is addressed to.
func (r *reader) back(p publisher, f native.Frame, own *bufpool.Buf) (int, error) {
	h := r.s.hop
	if err := r.check(f); err != nil {
		return len(f), r.refuse(p, f, err)
	}
	if err := p.charge(len(f), len(f)); err != nil {
		return 0, err
	}
	p.tag.in.add(1, len(f))
	r.observe(r.now - f.Time())
	r.lanes = h.backLanes(r.lanes[:0], f.Source(), p.tag)
	if len(r.lanes) == 0 {
		h.dropped[dropNoAddress].Add(1)
	}
	for _, l := range r.lanes {
		if l.sub.pred != nil {
			ok, odd := r.matchers.match(l.sub.pred, f)
			if odd {
				h.mismatched.Add(1)
			}
			if !ok {
				continue
			}
		}
		h.gone(h.deliver(l, f, 1, own, p, &r.touched))
	}
	clear(r.lanes)
	p.settle()
	return len(f), nil
}

// note keeps a notice for the publisher; one a second goes out at once, the rest are summed up.
func (r *reader) note(tag uint32, code native.Code, reason string) {
	if r.notice.Count > 0 && (r.notice.Tag != tag || r.notice.Code != code) {
		r.tellNotice()
	}
	if r.notice.Count == 0 {
		r.notice = native.NoticeFrame{Tag: tag, Code: code, Reason: reason}
	}
	r.notice.Count++
	if r.now-r.noticed > int64(time.Second) {
		r.tellNotice()
	}
}

func (r *reader) tellNotice() {
	if r.notice.Count == 0 {
		return
	}
	v := r.notice
	r.notice, r.noticed = native.NoticeFrame{}, r.now
	r.s.peer.Respond(func(b []byte) []byte { return native.AppendNotice(b, v) })
}

// observe notes how long a message took from its source to here. Clocks that disagree count as no time.
func (r *reader) observe(ns int64) {
	ns = max(ns, 0)
	r.latency[latencyBucket(ns)]++
	r.sum += ns
	r.observed++
}

// account adds the batch's latencies to the hop's.
func (r *reader) account() {
	if r.observed == 0 {
		return
	}
	h := r.s.hop
	for i, n := range r.latency {
		if n > 0 {
			h.latency[i].Add(uint64(n))
			r.latency[i] = 0
		}
	}
	h.latencySum.Add(r.sum)
	r.sum, r.observed = 0, 0
}
