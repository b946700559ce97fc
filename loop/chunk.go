package loop

import "example.com/ferry/internal/bufpool"

const (
	keepShared = 512     // most chunks without memory of their own on a loop's free list
	leastShare = 1 << 10 // bytes below which a copy costs less than a shared buffer
)

// chunkClass is the size of a chunk.
type chunkClass int

const (
	tinyChunk  chunkClass = iota // first chunk of a connection that is being opened: many may wait with a short request each
	smallChunk                   // first chunk of other queues; most messages are small
	largeChunk                   // each further chunk of a queue
	chunkClasses
)

// chunkBytes is the memory of a chunk of each class.
var chunkBytes = [chunkClasses]int{1 << 10, 4 << 10, 16 << 10}

// keepChunks is how many chunks of each class a loop's free list has at most: a first chunk for each connection that a turn writes
// to, and large ones of 4 MiB.
var keepChunks = [chunkClasses]int{512, 512, 256}

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

// append copies p to the end of the queue. first is the class of the first chunk, if p fits.
func (q *chunkQueue) append(free *freeChunks, p []byte, first chunkClass) {
	q.size += len(p)
	for len(p) > 0 {
		if q.tail == nil {
			q.tail = free.get(q.nextClass(len(p), first))
			q.head = q.tail
		} else if len(q.tail.b) == cap(q.tail.b) {
			q.tail.next = free.get(q.nextClass(len(p), first))
			q.tail = q.tail.next
		}
		n := min(len(p), cap(q.tail.b)-len(q.tail.b))
		q.tail.b = append(q.tail.b, p[:n]...)
		p = p[n:]
	}
}

// nextClass returns the class of the chunk behind tail for n bytes.
func (q *chunkQueue) nextClass(n int, first chunkClass) chunkClass {
	switch {
	case n > chunkBytes[smallChunk]:
		return largeChunk
	case q.tail == nil && n <= chunkBytes[first]:
		return first
	case q.tail == nil || q.tail.shared != nil || q.tail.class() == tinyChunk:
		return smallChunk
	}
	return largeChunk
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

// lend puts p at the end of the queue, without a copy, until endLoan. It returns the first chunk.
func (q *chunkQueue) lend(lent *chunk, p []byte) *chunk {
	if len(p) == 0 {
		return q.head
	}
	lent.b = p
	if q.head == nil {
		return lent
	}
	q.tail.next = lent
	return q.head
}

func (q *chunkQueue) endLoan(lent *chunk) {
	lent.b = nil
	if q.tail != nil {
		q.tail.next = nil
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
	lists       [chunkClasses]freeList
	shared      *chunk
	sharedCount int
	inUse       int
	bytes       int // memory of the chunks in use; of shared ones, the bytes in the queue
}

// freeList is the list of the free chunks of a class.
type freeList struct {
	first *chunk
	count int
}

func (f *freeChunks) get(class chunkClass) *chunk {
	f.inUse++
	f.bytes += chunkBytes[class]
	list := &f.lists[class]
	c := list.first
	if c == nil {
		return &chunk{b: make([]byte, 0, chunkBytes[class])}
	}
	list.first, c.next = c.next, nil
	list.count--
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
	class := c.class()
	f.bytes -= chunkBytes[class]
	poison(c.b)
	list := &f.lists[class]
	if !bufpool.Reuse || list.count == keepChunks[class] {
		return
	}
	c.b, c.off, c.next = c.b[:0], 0, list.first
	list.first = c
	list.count++
}

// class returns the class of a chunk with memory of its own.
func (c *chunk) class() chunkClass {
	switch cap(c.b) {
	case chunkBytes[tinyChunk]:
		return tinyChunk
	case chunkBytes[smallChunk]:
		return smallChunk
	}
	return largeChunk
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
