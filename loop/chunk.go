package loop

import "example.com/ferry/internal/bufpool"

const (
	smallChunk = 4 << 10  // bytes: the first of a queue, as most messages are small
	largeChunk = 16 << 10 // bytes: those that follow
	keepSmall  = 512      // as many as connections are written to in one turn
	keepLarge  = 256      // as many as are written more than smallChunk: 4 MiB
)

// chunk is a piece of a connection's queue of bytes to write. Queues are lists of chunks.
type chunk struct {
	b    []byte // b[off:] is to be written; cap(b)-len(b) bytes have room
	off  int
	next *chunk
}

// chunks are the free chunks of one loop; those beyond what is worth keeping are left to the garbage collector.
type chunks struct {
	small, large         *chunk
	freeSmall, freeLarge int
	inUse                int
}

func (f *chunks) get(large bool) *chunk {
	f.inUse++
	list, free, size := &f.small, &f.freeSmall, smallChunk
	if large {
		list, free, size = &f.large, &f.freeLarge, largeChunk
	}
	c := *list
	if c == nil {
		return &chunk{b: make([]byte, 0, size)}
	}
	*list, c.next = c.next, nil
	*free--
	return c
}

func (f *chunks) put(c *chunk) {
	f.inUse--
	list, free, keep := &f.small, &f.freeSmall, keepSmall
	if cap(c.b) == largeChunk {
		list, free, keep = &f.large, &f.freeLarge, keepLarge
	}
	poison(c.b)
	if !bufpool.Reuse || *free == keep {
		return
	}
	c.b, c.off, c.next = c.b[:0], 0, *list
	*list = c
	*free++
}
