package peer

import (
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// Queue holds whole frames in order. It copies small frames into buffers of its own. It only refers to frames that fill
// most of a shared buffer. A Queue uses at most twice the memory that Bytes counts, plus one block at each end. The
// zero value is empty. Only one goroutine may use it at a time.
type Queue struct {
	pieces FIFO[Piece]
	bytes  int
	tail   *bufpool.Buf // buffer for the next copied frames; nil if no piece uses it
	inTail int          // number of pieces in tail
}

// Piece is a run of whole frames and the buffer that holds them.
type Piece struct {
	Frames []byte
	Buf    *bufpool.Buf
	Count  int // number of frames; 0 if it is not known
}

// fillsHalf reports whether frames fill at least half of buf. Then retaining buf costs at most twice their length.
func fillsHalf(buf *bufpool.Buf, frames []byte) bool { return 2*len(frames) >= cap(buf.B) }

// Bytes returns the total length of the queued frames.
func (q *Queue) Bytes() int { return q.bytes }

// Count returns the number of queued frames.
func (q *Queue) Count() (n int) {
	for _, p := range q.pieces.All() {
		n += Count(p.Frames)
	}
	return n
}

// Push adds frames. If the frames fill at least half of the buffer shared, Push retains that buffer. Otherwise, and if
// shared is nil, Push copies the frames.
func (q *Queue) Push(frames []byte, shared *bufpool.Buf) { q.PushCounted(frames, 0, shared) }

// PushCounted is Push for count frames; 0 means that their number is not known.
func (q *Queue) PushCounted(frames []byte, count int, shared *bufpool.Buf) {
	q.bytes += len(frames)
	if shared != nil && fillsHalf(shared, frames) {
		shared.Retain()
		q.pieces.Push(Piece{frames, shared, count})
		return
	}
	if q.tail == nil || len(q.tail.B)+len(frames) > cap(q.tail.B) {
		q.tail, q.inTail = bufpool.Get(max(len(frames), min(q.bytes, blockSize))), 0
	}
	n := len(q.tail.B)
	q.tail.B = append(q.tail.B, frames...) // safe for pieces that were cut earlier: they end before the new bytes
	if q.inTail > 0 {
		if last := q.pieces.Back(); last.Buf == q.tail {
			last.Frames = q.tail.B[n-len(last.Frames):]
			if last.Count += count; count == 0 || last.Count == count {
				last.Count = 0
			}
			return
		}
		q.tail.Retain()
	}
	q.inTail++
	q.pieces.Push(Piece{q.tail.B[n:], q.tail, count})
}

// Front returns the oldest frames that are contiguous. The queue must not be empty.
func (q *Queue) Front() *Piece { return q.pieces.Front() }

// AppendFront appends the first n bytes of the queue to dst. The queue must have that many.
func (q *Queue) AppendFront(dst []byte, n int) []byte {
	for i := 0; n > 0; i++ {
		part := q.pieces.All()[i].Frames
		part = part[:min(n, len(part))]
		dst = append(dst, part...)
		n -= len(part)
	}
	return dst
}

// Cut removes n bytes from Front. The n bytes must be whole frames.
func (q *Queue) Cut(n int) {
	p := q.pieces.Front()
	p.Frames = p.Frames[n:]
	q.bytes -= n
	if len(p.Frames) > 0 {
		p.Count = 0
		return
	}
	if p.Buf == q.tail {
		if q.inTail--; q.inTail == 0 {
			q.tail = nil
		}
	}
	p.Buf.Release()
	q.pieces.Pop()
}

// Clear passes all frames to take, in order, and removes them.
func (q *Queue) Clear(take func(frames []byte)) {
	for q.bytes > 0 {
		p := q.Front()
		take(p.Frames)
		q.Cut(len(p.Frames))
	}
}

// Count returns the number of frames in frames.
func Count(frames []byte) (n int) {
	for len(frames) > 0 {
		frames = frames[native.Size(frames):]
		n++
	}
	return n
}
