package loop

import "example.com/ferry/internal/bufpool"

const (
	smallChunk = 4 << 10  // bytes of the first chunk of a queue; most messages are small
	largeChunk = 16 << 10 // bytes of each further chunk of a queue
	keepSmall  = 512      // most small chunks on a loop's free list: one for each connection that a turn writes to
	keepLarge  = 256      // most large chunks on a loop's free list: 4 MiB
)

// chunk is one buffer of a chunkQueue.
type chunk struct {
	b    []byte // b[off:] is not yet written; cap(b)-len(b) bytes are free
	off  int
	next *chunk
}

// chunkQueue holds the bytes to write to a connection, as a list of chunks. An empty queue has no chunk.
type chunkQueue struct {
	head, tail *chunk
	size       int // bytes not yet written
}

// append copies p to the end of the queue.
func (q *chunkQueue) append(free *freeChunks, p []byte) {
	q.size += len(p)
	for len(p) > 0 {
		if q.tail == nil {
			q.tail = free.get(len(p) > smallChunk)
			q.head = q.tail
		} else if len(q.tail.b) == cap(q.tail.b) {
			q.tail.next = free.get(true)
			q.tail = q.tail.next
		}
		n := min(len(p), cap(q.tail.b)-len(q.tail.b))
		q.tail.b = append(q.tail.b, p[:n]...)
		p = p[n:]
	}
}

// consume removes n bytes from the front of the queue.
func (q *chunkQueue) consume(free *freeChunks, n int) {
	q.size -= n
	for n > 0 {
		first := q.head
		k := min(n, len(first.b)-first.off)
		first.off += k
		n -= k
		if first.off == len(first.b) {
			q.head = first.next
			free.put(first)
		}
	}
	if q.head == nil {
		q.tail = nil
	}
}

// drop discards all bytes of the queue.
func (q *chunkQueue) drop(free *freeChunks) {
	for q.head != nil {
		next := q.head.next
		free.put(q.head)
		q.head = next
	}
	q.tail, q.size = nil, 0
}

// freeChunks holds the free chunks of one loop. Chunks above the limits are left to the garbage collector.
type freeChunks struct {
	small, large           *chunk
	smallCount, largeCount int
	inUse                  int
}

func (f *freeChunks) get(large bool) *chunk {
	f.inUse++
	list, count, size := &f.small, &f.smallCount, smallChunk
	if large {
		list, count, size = &f.large, &f.largeCount, largeChunk
	}
	c := *list
	if c == nil {
		return &chunk{b: make([]byte, 0, size)}
	}
	*list, c.next = c.next, nil
	*count--
	return c
}

func (f *freeChunks) put(c *chunk) {
	f.inUse--
	list, count, keep := &f.small, &f.smallCount, keepSmall
	if cap(c.b) == largeChunk {
		list, count, keep = &f.large, &f.largeCount, keepLarge
	}
	poison(c.b)
	if !bufpool.Reuse || *count == keep {
		return
	}
	c.b, c.off, c.next = c.b[:0], 0, *list
	*list = c
	*count++
}
