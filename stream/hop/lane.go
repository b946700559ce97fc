package hop

import (
	"slices"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// quantum is how many bytes one lane may add to a write before the next lane has its turn.
const quantum = 64 << 10

// shareLeast is the size in bytes below which frames are copied even if they lie in shared memory: many small writes
// would cost more, and a small piece would keep a large buffer alive.
const shareLeast = 4 << 10

// outlet is one stream to a client, and the lanes that go through it.
type outlet struct {
	*peer.FrameWriter
	selected uint32           // subscription of the last PUB
	ready    peer.FIFO[*lane] // lanes with a queue and credit, waiting for room
	freed    []publisher      // publishers to give credit to once the lock is released
}

// attach makes w the stream of o, before anything is written to it.
func (o *outlet) attach(w *peer.FrameWriter) {
	o.FrameWriter = w
	w.Refill = o.refill
}

// refill moves what lanes have queued into the next write, a quantum a lane.
func (o *outlet) refill() func() {
	for o.ready.Len() > 0 && o.Room() > 0 {
		l := o.ready.Pop()
		l.flush(quantum)
		if l.queue.Bytes() > 0 && l.credit > 0 {
			o.ready.Push(l)
		} else {
			l.isReady = false
		}
	}
	return o.takeFreed()
}

// takeFreed returns what gives the freed publishers their credit, which must not be done under the lock.
func (o *outlet) takeFreed() func() {
	if len(o.freed) == 0 {
		return nil
	}
	freed := o.freed
	o.freed = nil
	return func() {
		for _, p := range freed {
			p.resume()
		}
	}
}

// touched is outlets that were appended to and whose writers were not woken: a quiet stream is written to by whoever has
// something for it, once the batch is dealt with.
type touched []*outlet

// maxTouched bounds how many streams a reader writes to by itself after a batch; the writers of others are woken at once.
const maxTouched = 8

func (t *touched) flush() {
	for i, o := range *t {
		o.Flush()
		(*t)[i] = nil
	}
	*t = (*t)[:0]
}

// unlockLater is unlock, but leaves the writer asleep and notes the outlet in t, if that is not nil.
func (o *outlet) unlockLater(t *touched) {
	if t == nil || len(*t) == maxTouched {
		o.unlock()
		return
	}
	if !slices.Contains(*t, o) {
		*t = append(*t, o)
	}
	after := o.takeFreed()
	o.UnlockLater()
	if after != nil {
		after()
	}
}

// unlock releases the lock and then does what must not be done under it.
func (o *outlet) unlock() {
	after := o.takeFreed()
	o.Unlock()
	if after != nil {
		after()
	}
}

// lane is what one subscription gets of one tag: credit, a bounded queue, an order. All below out is guarded by out's
// lock.
type lane struct {
	sub *subscription
	tag *tag
	out *outlet

	credit    int // bytes the client still takes
	queue     peer.Queue
	isReady   bool
	announced bool // the client knows the tag's number
	closed    bool
	parked    []publisher // publishers whose credit is withheld
	sent      Traffic
	dropped   uint64
}

// push takes n frames of the lane's tag, one behind the other; own is the shared memory they lie in, or nil. It returns
// how many of them, or of those queued before, were dropped, and whether their publisher should hold back.
func (l *lane) push(frames []byte, n int, own *bufpool.Buf) (dropped int, full bool) {
	if len(frames) < shareLeast {
		own = nil
	}
	if l.queue.Bytes() == 0 && l.credit > 0 && l.out.Room() > 0 {
		if len(frames) <= l.credit {
			l.send(frames, n, own)
			return 0, false
		}
		now := l.affordable(frames, len(frames))
		l.send(frames[:now], peer.Count(frames[:now]), own)
		if frames = frames[now:]; len(frames) == 0 {
			return 0, false
		}
	}
	if l.sub.policy == native.DropNewest {
		kept := 0
		for kept < len(frames) {
			size := native.Size(frames[kept:])
			if l.queue.Bytes()+kept+size > l.sub.queue {
				break
			}
			kept += size
		}
		dropped = peer.Count(frames[kept:])
		if frames = frames[:kept]; kept == 0 {
			l.dropped += uint64(dropped)
			return dropped, false
		}
	}
	l.queue.Push(frames, own)
	for l.sub.policy == native.DropOldest && l.queue.Bytes() > l.sub.queue {
		l.cut(native.Size(l.queue.Front().Frames))
		dropped++
	}
	l.dropped += uint64(dropped)
	l.schedule()
	return dropped, l.sub.policy == native.Block && l.queue.Bytes() > l.sub.queue
}

// schedule lets the writer come for the queue as soon as there is room.
func (l *lane) schedule() {
	if !l.isReady && l.queue.Bytes() > 0 && l.credit > 0 {
		l.isReady = true
		l.out.ready.Push(l)
		l.out.Nudge()
	}
}

// affordable returns the length of the leading frames that credit and limit allow. Credit may be overdrawn by one frame.
func (l *lane) affordable(frames []byte, limit int) int {
	if limit = min(limit, l.credit); len(frames) <= limit {
		return len(frames)
	}
	n := 0
	for n < limit && n < len(frames) {
		n += native.Size(frames[n:])
	}
	return n
}

// send puts n frames into the next write.
func (l *lane) send(frames []byte, n int, own *bufpool.Buf) {
	o := l.out
	if !l.announced {
		l.announced = true
		o.SetTail(native.AppendTag(o.Tail(native.HeaderSize+6+len(l.tag.name)), native.TagFrame{Ref: l.tag.id, Name: l.tag.name}))
	}
	if o.selected != l.sub.id {
		o.selected = l.sub.id
		o.SetTail(native.AppendSelect(o.Tail(native.HeaderSize+4), l.sub.id))
	}
	if own != nil {
		o.Share(own, frames)
	} else {
		o.Append(frames)
	}
	l.credit -= len(frames)
	l.sent.Bytes += uint64(len(frames))
	l.sent.Messages += uint64(n)
}

// flush moves at most limit bytes of the queue into the next write, as credit allows.
func (l *lane) flush(limit int) {
	for limit > 0 && l.credit > 0 && l.queue.Bytes() > 0 {
		p := l.queue.Front()
		n := l.affordable(p.Frames, limit)
		l.send(p.Frames[:n:n], peer.Count(p.Frames[:n]), p.Buf)
		limit -= n
		l.cut(n)
	}
}

// cut takes n bytes, whole frames that lie together, off the queue.
func (l *lane) cut(n int) {
	l.queue.Cut(n)
	if len(l.parked) > 0 && l.queue.Bytes() <= l.sub.queue/2 {
		l.unpark()
	}
}

// park withholds p's credit for the tag until the queue is half empty.
func (l *lane) park(p publisher) {
	for _, q := range l.parked {
		if q == p {
			return
		}
	}
	p.hold()
	l.parked = append(l.parked, p)
}

func (l *lane) unpark() {
	l.out.freed = append(l.out.freed, l.parked...)
	l.parked = nil
}

// close gives up the lane and returns its queue, which is the caller's then. The lock is held.
func (l *lane) close() peer.Queue {
	queue := l.queue
	l.closed, l.queue = true, peer.Queue{}
	l.unpark()
	return queue
}
