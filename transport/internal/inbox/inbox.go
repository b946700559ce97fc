// Package inbox holds the bytes that have arrived on a connection until Read takes them, for transports whose library passes on
// messages. A deadline interrupts Read and loses no byte.
//
//	n, err := message.Read(in.Space()) // the goroutine that receives
//	in.Commit(n)
//	err = in.WaitRoom(limit)
//
//	n, err := in.Read(p) // the user
package inbox

import (
	"net"
	"os"
	"sync"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/transport/internal/deadline"
)

const (
	smallBuffer = 4 << 10  // bytes of the first buffer
	largeBuffer = 32 << 10 // bytes of further buffers, if the first one is full
)

// Inbox is a queue of bytes. One goroutine may call Space, Commit and WaitRoom, and one Read. All other methods may overlap.
type Inbox struct {
	// Deadline interrupts Read.
	Deadline deadline.Deadline

	// Taken, if set, is called after Read has taken n bytes. Set it before the first Read.
	Taken func(n int)

	mu      sync.Mutex
	bufs    []*bufpool.Buf
	taken   int  // bytes of bufs[0] that Read has taken
	size    int  // bytes that wait
	filling bool // Space has lent the rest of the last buffer
	err     error
	closed  bool
	filled  chan struct{} // signaled when bytes or the end have arrived
	drained chan struct{} // signaled when Read has taken bytes
}

// New returns an empty Inbox.
func New() *Inbox {
	return &Inbox{filled: make(chan struct{}, 1), drained: make(chan struct{}, 1)}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Space lends memory for bytes that arrive, at least one. Commit must follow.
func (b *Inbox) Space() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.filling = true
	last := len(b.bufs) - 1
	if last < 0 || len(b.bufs[last].B) == cap(b.bufs[last].B) {
		size := smallBuffer
		if last >= 0 {
			size = largeBuffer
		}
		b.bufs = append(b.bufs, bufpool.Get(size))
		last++
	}
	tail := b.bufs[last].B
	return tail[len(tail):cap(tail)]
}

// Commit adds the first n bytes of Space.
func (b *Inbox) Commit(n int) {
	b.mu.Lock()
	b.filling = false
	if last := len(b.bufs) - 1; last >= 0 {
		tail := b.bufs[last]
		tail.B = tail.B[:len(tail.B)+n]
		if !b.closed {
			b.size += n
		}
	}
	b.trim()
	b.mu.Unlock()
	signal(b.filled)
}

// Put copies p to the end.
func (b *Inbox) Put(p []byte) {
	for len(p) > 0 {
		n := copy(b.Space(), p)
		b.Commit(n)
		p = p[n:]
	}
}

// WaitRoom waits until fewer than limit bytes are held. It returns net.ErrClosed after Close.
func (b *Inbox) WaitRoom(limit int) error {
	for {
		b.mu.Lock()
		size, closed := b.size, b.closed
		b.mu.Unlock()
		switch {
		case closed:
			return net.ErrClosed
		case size < limit:
			return nil
		}
		<-b.drained
	}
}

// End lets Read return err after the bytes. The first call decides.
func (b *Inbox) End(err error) {
	b.mu.Lock()
	if b.err == nil {
		b.err = err
	}
	b.mu.Unlock()
	signal(b.filled)
}

// Close drops the bytes. Read returns net.ErrClosed.
func (b *Inbox) Close() {
	b.mu.Lock()
	b.closed, b.size = true, 0
	b.trim()
	b.mu.Unlock()
	b.Deadline.Set(time.Time{})
	signal(b.filled)
	signal(b.drained)
}

// Read waits for bytes and takes up to len(p). The error is that of End, os.ErrDeadlineExceeded or net.ErrClosed.
func (b *Inbox) Read(p []byte) (int, error) {
	for {
		expired, moved := b.Deadline.Channels()
		select {
		case <-expired:
			if b.isClosed() {
				return 0, net.ErrClosed
			}
			return 0, os.ErrDeadlineExceeded
		default:
		}
		n, err := b.take(p)
		if n > 0 {
			signal(b.drained)
			if b.Taken != nil {
				b.Taken(n)
			}
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		select {
		case <-b.filled:
		case <-expired:
		case <-moved:
		}
	}
}

func (b *Inbox) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// take copies bytes to p.
func (b *Inbox) take(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, net.ErrClosed
	}
	for len(p) > 0 && b.size > 0 {
		first := b.bufs[0]
		k := copy(p, first.B[b.taken:])
		p = p[k:]
		n += k
		b.taken += k
		b.size -= k
		b.trim()
	}
	if n == 0 && b.size == 0 {
		return 0, b.err
	}
	return n, nil
}

// trim releases the buffers at the front whose bytes are taken or dropped. It needs the lock.
func (b *Inbox) trim() {
	for len(b.bufs) > 0 {
		lent := b.filling && len(b.bufs) == 1
		if lent || !b.closed && b.taken < len(b.bufs[0].B) {
			return
		}
		b.bufs[0].Release()
		left := copy(b.bufs, b.bufs[1:])
		b.bufs[left] = nil
		b.bufs, b.taken = b.bufs[:left], 0
	}
}
