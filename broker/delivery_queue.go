package broker

import (
	"example.com/ferry/broker/internal/ledger"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// minShared is the least number of bytes that are written directly from a shared buffer. Fewer bytes are copied,
// because many small pieces make a write slow.
const minShared = 4 << 10

// deliveryQueue holds the messages of one tag for one subscription, and the credit that the client has granted for
// them. The lock of stream guards all fields after stream.
type deliveryQueue struct {
	sub    *subscription
	tag    *tag
	stream *subscriberStream

	credit    int // bytes that may still be sent to the client
	frames    peer.Queue
	scheduled bool // the queue is in stream.ready
	announced bool // the client knows the tag's number
	closed    bool
	hold      *ledger.Hold // since the queue has exceeded its bound, until it is half empty; else nil
	sent      Traffic
	dropped   uint64
}

// push sends or queues n contiguous frames of the queue's tag. shared is the buffer that holds the frames, or nil.
// dropped counts dropped messages, new or older ones. full means that the queue exceeds its bound, so the publisher's
// credit must be withheld.
func (q *deliveryQueue) push(frames []byte, n int, shared *bufpool.Buf) (dropped int, full bool) {
	if len(frames) < minShared {
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
	if q.sub.policy == native.DropNewest {
		fitting := q.fitting(frames)
		dropped = peer.Count(frames[fitting:])
		n = max(n-dropped, 0)
		if frames = frames[:fitting]; fitting == 0 {
			q.dropped += uint64(dropped)
			return dropped, false
		}
	}
	q.frames.PushCounted(frames, n, shared)
	for q.sub.policy == native.DropOldest && q.frames.Bytes() > q.sub.queueBound {
		q.cut(native.Size(q.frames.Front().Frames))
		dropped++
	}
	q.dropped += uint64(dropped)
	q.schedule()
	return dropped, q.sub.policy == native.Block && q.frames.Bytes() > q.sub.queueBound
}

// fitting returns the length of the leading frames that fit in the queue.
func (q *deliveryQueue) fitting(frames []byte) (n int) {
	for n < len(frames) {
		size := native.Size(frames[n:])
		if q.frames.Bytes()+n+size > q.sub.queueBound {
			break
		}
		n += size
	}
	return n
}

// schedule makes the writing goroutine send from the queue as soon as there is room.
func (q *deliveryQueue) schedule() {
	if !q.scheduled && q.frames.Bytes() > 0 && q.credit > 0 {
		q.scheduled = true
		q.stream.ready.Push(q)
		q.stream.Nudge()
	}
}

// affordable returns the length of the leading frames that both credit and limit allow. One frame may exceed the
// credit.
func (q *deliveryQueue) affordable(frames []byte, limit int) int {
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
func (q *deliveryQueue) send(frames []byte, n int, shared *bufpool.Buf) (taken int) {
	s := q.stream
	if s.local != nil {
		taken, n = s.local.deliver(q.sub.local, q.tag.name, frames, n)
		q.sent.add(Traffic{uint64(n), uint64(taken)})
		return taken
	}
	if !q.announced {
		q.announced = true
		s.wire.SetTail(native.AppendTag(s.wire.Tail(native.HeaderSize+6+len(q.tag.name)), native.TagFrame{Ref: q.tag.id, Name: q.tag.name}))
	}
	s.selectSub(q.sub.id)
	if shared != nil {
		s.wire.Share(shared, frames)
	} else {
		s.wire.Append(frames)
	}
	q.credit -= len(frames)
	q.sent.add(Traffic{uint64(n), uint64(len(frames))})
	return len(frames)
}

// flush moves up to limit bytes from the queue to the next write, as far as credit allows. Behind the first piece it moves whole ones
// only, whose number of frames is known.
func (q *deliveryQueue) flush(limit int) {
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
func (q *deliveryQueue) cut(n int) {
	q.frames.Cut(n)
	if q.hold != nil && q.frames.Bytes() <= q.sub.queueBound/2 {
		q.releasePublishers()
	}
}

// withhold withholds p's credit for the tag until the queue is at most half full.
func (q *deliveryQueue) withhold(p *publisher) {
	if q.hold == nil {
		q.hold = &ledger.Hold{}
	}
	q.hold.Add(&p.account)
}

func (q *deliveryQueue) releasePublishers() {
	if q.hold != nil {
		q.stream.resumable = append(q.stream.resumable, q.hold)
		q.hold = nil
	}
}

// close closes the queue and returns its messages. The caller then owns them.
func (q *deliveryQueue) close() peer.Queue {
	frames := q.frames
	q.closed, q.frames = true, peer.Queue{}
	q.releasePublishers()
	return frames
}

// idle reports whether the queue is empty and the client has returned more than half of its window. It acquires the
// lock.
func (q *deliveryQueue) idle() bool {
	q.stream.Lock()
	defer q.stream.Unlock()
	return q.frames.Bytes() == 0 && q.credit > q.sub.window/2
}
