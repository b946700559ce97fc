package http2

import "example.com/ferry/internal/bufpool"

const (
	largeQueueBuf = 16 << 10 // most bytes of a buffer
	crowdedQueue  = 4 << 10  // length of a queue that is full while Output is crowded, in bytes
)

// sendQueue holds DATA that waits for a window or for Output. Bytes are copied once, into buffers that Output later shares. A new
// buffer is as large as what is written, or as what the queue holds, if that is more. So a short queue takes at most twice its
// length, and many streams that each hold a small response back take little memory.
type sendQueue struct {
	bufs []*bufpool.Buf
	off  int // bytes of bufs[0] that are taken
	size int
}

// append copies p to the end of the queue. out counts the memory of the buffers.
func (q *sendQueue) append(out Output, p []byte) {
	q.size += len(p)
	for len(p) > 0 {
		var last *bufpool.Buf
		if len(q.bufs) > 0 {
			last = q.bufs[len(q.bufs)-1]
		}
		if last == nil || len(last.B) == cap(last.B) {
			held := q.size - len(p)
			last = bufpool.Get(min(max(held, len(p)), largeQueueBuf))
			out.Hold(cap(last.B))
			q.bufs = append(q.bufs, last)
		}
		n := min(len(p), cap(last.B)-len(last.B))
		last.B = append(last.B, p[:n]...)
		p = p[n:]
	}
}

// writeTo passes the first n bytes to out and removes them. Output may still hold a part of a buffer when the queue appends behind
// that part.
func (q *sendQueue) writeTo(out Output, n int) {
	q.size -= n
	done := 0
	for n > 0 {
		b := q.bufs[done]
		k := min(n, len(b.B)-q.off)
		out.WriteShared(b, b.B[q.off:q.off+k:q.off+k])
		q.off += k
		n -= k
		if q.off == len(b.B) && (q.off == cap(b.B) || q.size == 0) {
			out.Hold(-cap(b.B))
			b.Release()
			done++
			q.off = 0
		}
	}
	q.removeFirst(done)
}

// drop releases all buffers.
func (q *sendQueue) drop(out Output) {
	for _, b := range q.bufs {
		out.Hold(-cap(b.B))
		b.Release()
	}
	q.removeFirst(len(q.bufs))
	q.off, q.size = 0, 0
}

func (q *sendQueue) removeFirst(n int) {
	if n == 0 {
		return
	}
	left := copy(q.bufs, q.bufs[n:])
	clear(q.bufs[left:])
	q.bufs = q.bufs[:left]
}

// readyList is the queue of streams that can send DATA, in the order of their turns.
type readyList struct{ first, last *Stream }

// push appends s, unless it is in the list.
func (l *readyList) push(s *Stream) {
	if s.is(ready) {
		return
	}
	s.flags |= ready
	s.readyPrev = l.last
	if l.last != nil {
		l.last.readyNext = s
	} else {
		l.first = s
	}
	l.last = s
}

// remove removes s, if it is in the list.
func (l *readyList) remove(s *Stream) {
	if !s.is(ready) {
		return
	}
	s.flags &^= ready
	if s.readyPrev != nil {
		s.readyPrev.readyNext = s.readyNext
	} else {
		l.first = s.readyNext
	}
	if s.readyNext != nil {
		s.readyNext.readyPrev = s.readyPrev
	} else {
		l.last = s.readyPrev
	}
	s.readyPrev, s.readyNext = nil, nil
}
