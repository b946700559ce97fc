package peer

import (
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// Queue holds whole frames in order. It copies small frames side by side into buffers of its own, and refers to frames
// that fill most of a shared buffer. The memory it keeps is at most twice what Bytes counts, and one block at each end. The
// zero value is empty. It is for one goroutine at a time.
type Queue struct {
	pieces FIFO[Piece]
	bytes  int
	tail   *bufpool.Buf // takes the next copied frames; nil if no piece lies in it
	inTail int          // pieces that lie in tail
}

// Piece is whole frames, one behind the other, and the buffer they lie in.
type Piece struct {
	Frames []byte
	Buf    *bufpool.Buf
}

// fills reports whether frames are so much of buf that keeping buf costs at most twice their length.
func fills(buf *bufpool.Buf, frames []byte) bool { return 2*len(frames) >= cap(buf.B) }

// Bytes returns the sum of the queued frames' lengths.
func (q *Queue) Bytes() int { return q.bytes }

// Count returns the number of queued frames.
func (q *Queue) Count() (n int) {
	for _, p := range q.pieces.All() {
		n += Count(p.Frames)
	}
	return n
}

// Push adds frames. If they fill shared, the buffer they lie in, Push retains it; otherwise, and if shared is nil, it
// copies them.
func (q *Queue) Push(frames []byte, shared *bufpool.Buf) {
	q.bytes += len(frames)
	if shared != nil && fills(shared, frames) {
		shared.Retain()
		q.pieces.Push(Piece{frames, shared})
		return
	}
	if q.tail == nil || len(q.tail.B)+len(frames) > cap(q.tail.B) {
		q.tail, q.inTail = bufpool.Get(max(len(frames), min(q.bytes, blockSize))), 0
	}
	n := len(q.tail.B)
	q.tail.B = append(q.tail.B, frames...) // readers of pieces that were cut before do not read behind those
	if q.inTail > 0 {
		if last := q.pieces.Back(); last.Buf == q.tail {
			last.Frames = q.tail.B[n-len(last.Frames):]
			return
		}
		q.tail.Retain()
	}
	q.inTail++
	q.pieces.Push(Piece{q.tail.B[n:], q.tail})
}

// Front returns the oldest frames that lie together; Bytes must not be 0.
func (q *Queue) Front() *Piece { return q.pieces.Front() }

// Cut removes n bytes, whole frames of Front.
func (q *Queue) Cut(n int) {
	p := q.pieces.Front()
	p.Frames = p.Frames[n:]
	q.bytes -= n
	if len(p.Frames) > 0 {
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

// Clear calls take with all frames, in order, and removes them.
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
