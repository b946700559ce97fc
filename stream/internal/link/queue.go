package link

import (
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

// Queue holds whole frames in order: small ones copied side by side into memory of its own, those that lie in shared
// memory by reference. The zero value is empty. It is for one goroutine at a time.
type Queue struct {
	pieces FIFO[Piece]
	bytes  int
}

// Piece is whole frames, one behind the other, and the memory they lie in.
type Piece struct {
	Frames []byte
	Buf    *bufpool.Buf
	shared bool // others may append to Buf
}

// Bytes returns how much is queued.
func (q *Queue) Bytes() int { return q.bytes }

// Count returns how many frames are queued.
func (q *Queue) Count() (n int) {
	for _, p := range q.pieces.All() {
		n += Count(p.Frames)
	}
	return n
}

// Push adds frames: by reference if they lie in own, which it retains, else as a copy.
func (q *Queue) Push(frames []byte, own *bufpool.Buf) {
	q.bytes += len(frames)
	if own != nil {
		own.Retain()
		q.pieces.Push(Piece{frames, own, true})
		return
	}
	if q.pieces.Len() > 0 {
		// Whoever is still reading what was cut from this buffer does not see what is written behind it.
		last := q.pieces.Back()
		if n := len(last.Buf.B); !last.shared && n+len(frames) <= cap(last.Buf.B) {
			last.Buf.B = append(last.Buf.B, frames...)
			last.Frames = last.Buf.B[n-len(last.Frames):]
			return
		}
	}
	buf := bufpool.Get(max(len(frames), min(q.bytes, block)))
	buf.B = append(buf.B, frames...)
	q.pieces.Push(Piece{buf.B, buf, false})
}

// Front returns the oldest frames that lie together; Bytes must not be 0.
func (q *Queue) Front() *Piece { return q.pieces.Front() }

// Cut takes n bytes, whole frames of Front, off the queue.
func (q *Queue) Cut(n int) {
	p := q.pieces.Front()
	p.Frames = p.Frames[n:]
	q.bytes -= n
	if len(p.Frames) == 0 {
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
