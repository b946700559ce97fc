package outlet

import (
	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/broker/stats"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// MinShared is the least number of bytes that are written directly from a shared buffer. Fewer bytes are copied,
// because many small pieces make a write slow.
const MinShared = 4 << 10

// MaxCredit bounds the credit of a subscription and tag, in bytes, however much the client grants.
const MaxCredit = 1 << 30

// Sub is what the Queues of a subscription have in common. It does not change.
type Sub struct {
	ID     uint32
	Policy native.Policy
	Window int // bytes of each tag that may be sent before the client returns credit
	Bound  int // bytes of each tag that may be queued in the broker
	Handle any // what Client.Deliver gets
}

// Tag is the tag of a Queue. It does not change.
type Tag struct {
	ID   uint32
	Name string
}

// Queue holds the messages of one tag for one subscription, and the credit that the client has granted for them. All methods take the
// lock of its Stream.
type Queue struct {
	sub    *Sub
	tag    *Tag
	stream *Stream

	credit    int // bytes that may still be sent to the client
	frames    peer.Queue
	scheduled bool // the queue is in stream.ready
	announced bool // the client knows the tag's number
	closed    bool
	hold      *ledger.Hold // since the queue has exceeded its bound, until it is half empty; else nil
	sent      stats.Traffic
	dropped   uint64
}

// QueueStats is the state of a Queue.
type QueueStats struct {
	Sent             stats.Traffic
	Dropped          uint64 // messages
	Messages, Bytes  int    // that wait
	Credit, Withheld int    // bytes, and publishers whose credit is withheld
}

// Init makes q an empty queue. It is called before all other methods.
func (q *Queue) Init(sub *Sub, tag *Tag, stream *Stream) {
	q.sub, q.tag, q.stream, q.credit = sub, tag, stream, sub.Window
}

// Deliver sends or queues n contiguous frames of the queue's tag. shared is the buffer that holds the frames, or nil. The credit of from
// is withheld if the queue is full. If Deliver leaves the stream unflushed, it adds the stream to u. It returns how many messages were
// dropped, new or older ones, and false if the queue is closed: then it has taken none.
func (q *Queue) Deliver(frames []byte, n int, shared *bufpool.Buf, from *ledger.Account, u *peer.Unflushed) (dropped int, open bool) {
	q.stream.Lock()
	if q.closed {
		q.stream.Unlock()
		return 0, false
	}
	dropped, full := q.push(frames, n, shared)
	if full {
		if q.hold == nil {
			q.hold = &ledger.Hold{}
		}
		q.hold.Add(from)
	}
	q.stream.Release(u)
	return dropped, true
}

// TakeOver sends or queues f, which another queue has held, if the queue is open and has room for f. It reports whether it did.
func (q *Queue) TakeOver(f native.Frame) bool {
	q.stream.Lock()
	defer q.stream.Release(nil)
	sendable := q.frames.Bytes() == 0 && q.credit > 0 && q.stream.Room() > 0
	fits := q.frames.Bytes()+len(f) <= q.sub.Bound
	if q.closed || (!sendable && !fits) {
		return false
	}
	q.push(f, 1, nil)
	return true
}

// AddCredit allows n more bytes.
func (q *Queue) AddCredit(n int) {
	q.stream.Lock()
	q.credit = min(q.credit+n, MaxCredit)
	q.schedule()
	q.stream.Release(nil)
}

// Restrain withholds the credit of a publisher if the queue is full, or was and is not yet half empty.
func (q *Queue) Restrain(a *ledger.Account) {
	q.stream.Lock()
	if q.hold != nil {
		q.hold.Add(a)
	}
	q.stream.Release(nil)
}

// Load returns how many bytes wait, and whether the queue has credit. open is false if the queue is closed.
func (q *Queue) Load() (bytes int, credit, open bool) {
	q.stream.Lock()
	defer q.stream.Unlock()
	return q.frames.Bytes(), q.credit > 0, !q.closed
}

// Stats returns the state of the queue.
func (q *Queue) Stats() QueueStats {
	q.stream.Lock()
	defer q.stream.Unlock()
	return q.stats()
}

func (q *Queue) stats() QueueStats {
	return QueueStats{Sent: q.sent, Dropped: q.dropped, Messages: q.frames.Count(), Bytes: q.frames.Bytes(), Credit: q.credit, Withheld: q.hold.Len()}
}

// Close closes the queue and returns its messages, which the caller then owns, and its last state. The caller calls resume, unless it is
// nil, when it does not hold the lock of a session or a stream.
func (q *Queue) Close() (frames peer.Queue, last QueueStats, resume func()) {
	q.stream.Lock()
	defer q.stream.Unlock()
	frames, q.closed, q.frames = q.frames, true, peer.Queue{}
	q.releasePublishers()
	return frames, q.stats(), q.stream.takeResumable()
}

// push sends or queues n contiguous frames of the queue's tag. shared is the buffer that holds the frames, or nil.
// dropped counts dropped messages, new or older ones. full means that the queue exceeds its bound, so the publisher's
// credit must be withheld.
func (q *Queue) push(frames []byte, n int, shared *bufpool.Buf) (dropped int, full bool) {
	if len(frames) < MinShared {
		shared = nil
	}
	if q.frames.Bytes() == 0 && q.credit > 0 && q.stream.Room() > 0 {
		now, count := len(frames), n
		if now > q.credit {
			now = q.affordable(frames, now)
			count = peer.Count(frames[:now])
		}
		if taken := q.send(frames[:now], count, shared); taken == now {
			frames, n = frames[taken:], n-count
		} else {
			frames, n = frames[taken:], 0 // a client in the process has taken some
		}
		if len(frames) == 0 {
			return 0, false
		}
	}
	if q.sub.Policy == native.DropNewest {
		fitting := q.fitting(frames)
		dropped = peer.Count(frames[fitting:])
		n = max(n-dropped, 0)
		if frames = frames[:fitting]; fitting == 0 {
			q.dropped += uint64(dropped)
			return dropped, false
		}
	}
	q.frames.PushCounted(frames, n, shared)
	for q.sub.Policy == native.DropOldest && q.frames.Bytes() > q.sub.Bound {
		q.cut(native.Size(q.frames.Front().Frames))
		dropped++
	}
	q.dropped += uint64(dropped)
	q.schedule()
	return dropped, q.sub.Policy == native.Block && q.frames.Bytes() > q.sub.Bound
}

// fitting returns the length of the leading frames that fit in the queue.
func (q *Queue) fitting(frames []byte) (n int) {
	for n < len(frames) {
		size := native.Size(frames[n:])
		if q.frames.Bytes()+n+size > q.sub.Bound {
			break
		}
		n += size
	}
	return n
}

// schedule makes the writing goroutine send from the queue as soon as there is room.
func (q *Queue) schedule() {
	if !q.scheduled && q.frames.Bytes() > 0 && q.credit > 0 {
		q.scheduled = true
		q.stream.ready.Push(q)
		q.stream.Nudge()
	}
}

// affordable returns the length of the leading frames that both credit and limit allow. One frame may exceed the
// credit.
func (q *Queue) affordable(frames []byte, limit int) int {
	if limit = min(limit, q.credit); len(frames) <= limit {
		return len(frames)
	}
	n := 0
	for n < limit && n < len(frames) {
		n += native.Size(frames[n:])
	}
	return n
}

// send appends n frames to the next write, or passes them to the client in the process. It returns how many bytes of frames that
// client has taken; a connection takes all.
func (q *Queue) send(frames []byte, n int, shared *bufpool.Buf) (taken int) {
	s := q.stream
	if s.Client != nil {
		taken, n = s.deliver(q.sub.Handle, q.tag.Name, frames, n)
		q.sent.Add(stats.Traffic{Messages: uint64(n), Bytes: uint64(taken)})
		return taken
	}
	if !q.announced {
		q.announced = true
		s.Wire.SetTail(native.AppendTag(s.Wire.Tail(native.HeaderSize+6+len(q.tag.Name)), native.TagFrame{Ref: q.tag.ID, Name: q.tag.Name}))
	}
	s.Select(q.sub.ID)
	if shared != nil {
		s.Wire.Share(shared, frames)
	} else {
		s.Wire.Append(frames)
	}
	q.credit -= len(frames)
	q.sent.Add(stats.Traffic{Messages: uint64(n), Bytes: uint64(len(frames))})
	return len(frames)
}

// flush moves up to limit bytes from the queue to the next write, as far as credit allows. Behind the first piece it moves whole ones
// only, whose number of frames is known.
func (q *Queue) flush(limit int) {
	for first := true; limit > 0 && q.credit > 0 && q.frames.Bytes() > 0; first = false {
		p := q.frames.Front()
		if !first && len(p.Frames) > limit {
			return
		}
		n, count := q.affordable(p.Frames, limit), p.Count
		if n < len(p.Frames) || count == 0 {
			count = peer.Count(p.Frames[:n])
		}
		taken := q.send(p.Frames[:n:n], count, p.Buf)
		limit -= n
		q.cut(taken)
		if taken < n {
			return
		}
	}
}

// cut removes n bytes from the front of the queue: whole frames that are contiguous.
func (q *Queue) cut(n int) {
	q.frames.Cut(n)
	if q.frames.Bytes() <= q.sub.Bound/2 {
		q.releasePublishers()
	}
}

// releasePublishers returns the credit that the queue withholds, when the lock is released.
func (q *Queue) releasePublishers() {
	if q.hold != nil {
		q.stream.resumable = append(q.stream.resumable, q.hold)
		q.hold = nil
	}
}
