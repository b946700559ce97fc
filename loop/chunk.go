package loop

import "example.com/ferry/internal/bufpool"

const (
	smallChunk = 4 << 10  // bytes of the first chunk of a queue; most messages are small
	largeChunk = 16 << 10 // bytes of each further chunk of a queue
	keepSmall  = 512      // most small chunks on a loop's free list: one for each connection that a turn writes to
	keepLarge  = 256      // most large chunks on a loop's free list: 4 MiB
	keepShared = 512      // most chunks without memory of their own on a loop's free list
	leastShare = 1 << 10  // bytes below which a copy costs less than a shared buffer
)

// chunk is one buffer of a chunkQueue.
type chunk struct {
	b      []byte // b[off:] is not yet written; cap(b)-len(b) bytes are free
	off    int
	next   *chunk
	shared *bufpool.Buf // owns the memory of b; nil if b belongs to the chunk. A shared b has no free bytes.
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
			q.tail.next = free.get(q.tail.shared == nil || len(p) > smallChunk)
			q.tail = q.tail.next
		}
		n := min(len(p), cap(q.tail.b)-len(q.tail.b))
		q.tail.b = append(q.tail.b, p[:n]...)
		p = p[n:]
	}
}

// appendShared appends p, which lies in the memory of b, without a copy.
func (q *chunkQueue) appendShared(free *freeChunks, b *bufpool.Buf, p []byte) {
	c := free.share(b, p)
	q.size += len(p)
	if q.tail == nil {
		q.head = c
	} else {
		q.tail.next = c
	}
	q.tail = c
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
	small, large, shared                *chunk
	smallCount, largeCount, sharedCount int
	inUse                               int
	bytes                               int // memory of the chunks in use; of shared ones, the bytes in the queue
}

func (f *freeChunks) get(large bool) *chunk {
	f.inUse++
	list, count, size := &f.small, &f.smallCount, smallChunk
	if large {
		list, count, size = &f.large, &f.largeCount, largeChunk
	}
	f.bytes += size
	c := *list
	if c == nil {
		return &chunk{b: make([]byte, 0, size)}
	}
	*list, c.next = c.next, nil
	*count--
	return c
}

// share returns a chunk of p, which lies in the memory of b. The chunk retains b until put.
func (f *freeChunks) share(b *bufpool.Buf, p []byte) *chunk {
	f.inUse++
	f.bytes += len(p)
	b.Retain()
	c := f.shared
	if c == nil {
		return &chunk{b: p[:len(p):len(p)], shared: b}
	}
	f.shared = c.next
	f.sharedCount--
	c.b, c.shared, c.next = p[:len(p):len(p)], b, nil
	return c
}

func (f *freeChunks) put(c *chunk) {
	f.inUse--
	if c.shared != nil {
		f.putShared(c)
		return
	}
	list, count, keep := &f.small, &f.smallCount, keepSmall
	if cap(c.b) == largeChunk {
		list, count, keep = &f.large, &f.largeCount, keepLarge
	}
	f.bytes -= cap(c.b)
	poison(c.b)
	if !bufpool.Reuse || *count == keep {
		return
	}
	c.b, c.off, c.next = c.b[:0], 0, *list
	*list = c
	*count++
}

func (f *freeChunks) putShared(c *chunk) {
	c.shared.Release()
	f.bytes -= len(c.b)
	c.b, c.off, c.shared = nil, 0, nil
	if bufpool.Reuse && f.sharedCount < keepShared {
		c.next = f.shared
		f.shared = c
		f.sharedCount++
	}
}
