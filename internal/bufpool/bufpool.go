// Package bufpool is a pool of byte buffers with reference counts.
//
// Get returns a buffer with one reference. Each further holder calls Retain. Every holder calls Release once. The last Release
// returns the buffer to the pool. In builds with the race detector, the last Release also overwrites the buffer. So a test
// that reads a released buffer reads garbage.
//
//	b := bufpool.Get(len(frame))
//	b.B = append(b.B, frame...)
//	defer b.Release()
package bufpool

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	minShift      = 9       // 512 bytes
	maxShift      = 20      // 1 MiB; larger buffers are left to the garbage collector
	retainedBytes = 4 << 20 // bytes of free buffers of each class that survive a garbage collection
)

var classes [maxShift - minShift + 1]class

// class holds the free buffers of one size. A garbage collection empties a sync.Pool. Allocating large buffers again would
// start the next collection earlier. So up to retainedBytes stay in a list, and only further buffers are in a sync.Pool.
type class struct {
	mu   sync.Mutex
	free []*Buf
	more sync.Pool
}

func (c *class) get() *Buf {
	c.mu.Lock()
	if n := len(c.free); n > 0 {
		b := c.free[n-1]
		c.free[n-1] = nil
		c.free = c.free[:n-1]
		c.mu.Unlock()
		return b
	}
	c.mu.Unlock()
	b, _ := c.more.Get().(*Buf)
	return b
}

func (c *class) put(b *Buf) {
	c.mu.Lock()
	if (len(c.free)+1)*cap(b.B) <= retainedBytes {
		c.free = append(c.free, b)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	c.more.Put(b)
}

// Buf is a shared buffer. Any goroutine may call Retain and Release at any time. Only one holder at a time may
// write to B.
type Buf struct {
	B     []byte
	refs  atomic.Int32
	class int8 // index of the buffer's class; -1 means that the buffer is not pooled
}

// Get returns an empty buffer with a capacity of at least n bytes and one reference.
func Get(n int) *Buf {
	class := 0
	if n > 1<<minShift {
		class = bits.Len(uint(n-1)) - minShift
	}
	if class >= len(classes) {
		b := &Buf{B: make([]byte, 0, n), class: -1}
		b.refs.Store(1)
		return b
	}
	b := classes[class].get()
	if b == nil {
		b = &Buf{B: make([]byte, 0, 1<<(class+minShift)), class: int8(class)}
	}
	b.refs.Store(1)
	return b
}

// Grow returns a buffer with the content of b and room for n bytes more: b itself, or a larger one, and then it releases b. b may be nil.
func Grow(b *Buf, n int) *Buf {
	if b == nil {
		return Get(n)
	}
	if len(b.B)+n <= cap(b.B) {
		return b
	}
	larger := Get(max(2*cap(b.B), len(b.B)+n))
	larger.B = append(larger.B, b.B...)
	b.Release()
	return larger
}

// Retain adds a reference to the buffer.
func (b *Buf) Retain() { b.refs.Add(1) }

// Shared reports whether there is another holder. If not, only the caller can make one.
func (b *Buf) Shared() bool { return b.refs.Load() > 1 }

// Release removes one reference. The holder must not use the buffer after the call. If an append has moved B to another array,
// the buffer is left to the garbage collector: in the pool it would use more memory than its class says.
func (b *Buf) Release() {
	switch n := b.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("bufpool: buffer released more often than it was retained")
	}
	if overwriteReleased {
		full := b.B[:cap(b.B)]
		for i := range full {
			full[i] = 0xdb
		}
	}
	if Reuse && b.class >= 0 && cap(b.B) == 1<<(b.class+minShift) {
		b.B = b.B[:0]
		classes[b.class].put(b)
	}
}
