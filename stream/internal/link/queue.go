package link

import (
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// Queue holds whole frames in order: small ones copied side by side into memory of its own, those that fill most of a
// shared buffer by reference. It keeps at most twice the memory that Bytes counts, and one block at each end. The zero
// value is empty. It is for one goroutine at a time.
type Queue struct {
	pieces FIFO[Piece]
	bytes  int
	open   *bufpool.Buf // takes the next copied frames; nil if no piece lies in it
	opened int          // pieces that lie in open
}

// Piece is whole frames, one behind the other, and the memory they lie in.
type Piece struct {
	Frames []byte
	Buf    *bufpool.Buf
}

// fills reports whether b is so much of buf that keeping buf costs no more than twice what b counts.
func fills(buf *bufpool.Buf, b []byte) bool { return 2*len(b) >= cap(buf.B) }

// Bytes returns how much is queued.
func (q *Queue) Bytes() int { return q.bytes }

// Count returns how many frames are queued.
func (q *Queue) Count() (n int) {
	for _, p := range q.pieces.All() {
		n += Count(p.Frames)
	}
	return n
}

// Push adds frames: by reference if they fill own, the shared memory they lie in, which it retains; else as a copy.
func (q *Queue) Push(frames []byte, own *bufpool.Buf) {
	q.bytes += len(frames)
	if own != nil && fills(own, frames) {
		own.Retain()
		q.pieces.Push(Piece{frames, own})
		return
	}
	if q.open == nil || len(q.open.B)+len(frames) > cap(q.open.B) {
		q.open, q.opened = bufpool.Get(max(len(frames), min(q.bytes, block))), 0
	}
	n := len(q.open.B)
	q.open.B = append(q.open.B, frames...) // a reader of what was cut from open before does not see what is behind it
	if q.opened > 0 {
		if last := q.pieces.Back(); last.Buf == q.open {
			last.Frames = q.open.B[n-len(last.Frames):]
			return
		}
		q.open.Retain()
	}
	q.opened++
	q.pieces.Push(Piece{q.open.B[n:], q.open})
}

// Front returns the oldest frames that lie together; Bytes must not be 0.
func (q *Queue) Front() *Piece { return q.pieces.Front() }

// Cut takes n bytes, whole frames of Front, off the queue.
func (q *Queue) Cut(n int) {
	p := q.pieces.Front()
	p.Frames = p.Frames[n:]
	q.bytes -= n
	if len(p.Frames) == 0 {
		if p.Buf == q.open {
			if q.opened--; q.opened == 0 {
				q.open = nil
			}
		}
		p.Buf.Release()
		q.pieces.Pop()
	}
}

// Clear lets go of everything, handing it to take first.
func (q *Queue) Clear(take func(frames []byte)) {
	for q.bytes > 0 {
		p := q.Front()
		take(p.Frames)
		q.Cut(len(p.Frames))
	}
}

// Count returns how many frames lie in frames.
func Count(frames []byte) (n int) {
	for len(frames) > 0 {
		frames = frames[native.Size(frames):]
		n++
	}
	return n
}
