package link

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/bufpool"
)

// block is the size in bytes of the buffers that small frames are gathered in.
const block = 64 << 10

// Outlet gathers frames for one byte stream. Producers append under Lock; one goroutine in Run writes. While it writes,
// what producers append grows the next write: the busier the stream, the larger the writes.
type Outlet struct {
	// Refill, if set, is called under the lock whenever the writer looks for more to write: it appends what was held back,
	// and returns what is left to do without the lock, or nil.
	Refill func() (after func())

	mu      sync.Mutex
	wake    sync.Cond
	segs    []segment
	tail    *bufpool.Buf  // takes the next copied frames
	sealed  int           // bytes of tail that segs refer to
	queued  int           // bytes in segs, and in tail behind sealed
	control int           // of those, bytes of AppendControl
	limit   int           // bytes above which Room is not positive
	waiting bool          // the writer sleeps
	nudged  bool          // the writer is to call Refill, though it may find nothing to write
	try     *try          // nil where the stream cannot be written to without waiting
	wrote   int64         // Unix nanoseconds when the last write ended
	now     int64         // what Now returned last
	reads   int           // how often Now may return it again
	room    chan struct{} // closed when a write begins and there is room again; nil while nobody waits
	closed  bool          // no more appends; Run ends when all is written
	done    chan struct{}

	writing atomic.Int64 // Unix nanoseconds since when the current Write blocks; 0 while none does
	vec     net.Buffers
}

// segment is bytes to write and the buffer they lie in.
type segment struct {
	b   []byte
	buf *bufpool.Buf
}

// NewOutlet returns an Outlet that takes limit bytes before Room tells producers to hold back.
func NewOutlet(limit int) *Outlet {
	o := &Outlet{limit: limit, done: make(chan struct{})}
	o.wake.L = &o.mu
	return o
}

// Lock takes the Outlet for appending.
func (o *Outlet) Lock() { o.mu.Lock() }

// Unlock gives it back, and wakes the writer if there is anything to write.
func (o *Outlet) Unlock() {
	wake := o.waiting && (o.queued > 0 || o.closed || o.nudged)
	if wake {
		o.waiting = false
	}
	o.mu.Unlock()
	if wake {
		o.wake.Signal()
	}
}

// UnlockLater gives it back and leaves the writer asleep unless there is much to write: the caller appends more soon,
// and then calls Flush.
func (o *Outlet) UnlockLater() {
	if o.queued > little {
		o.Unlock()
		return
	}
	o.mu.Unlock()
}

// little is the size in bytes up to which a write is worth doing at once, by whoever has something to write, rather than
// waking the writer for it: that costs more than the write.
const little = 16 << 10

// Flush writes what is queued, if it is little and the stream takes it without waiting, and else wakes the writer.
func (o *Outlet) Flush() {
	o.Lock()
	o.UnlockFlush(0)
}

// UnlockFlush gives it back, and writes what is queued as Flush does, if the last write has ended so long ago. Producers
// that come at a high rate leave it to the writer, who gathers what they append.
func (o *Outlet) UnlockFlush(quiet time.Duration) {
	if o.try == nil || !o.waiting || o.queued == 0 || o.queued > little || len(o.segs) > 0 || o.closed ||
		(quiet > 0 && time.Now().UnixNano()-o.wrote < int64(quiet)) {
		o.Unlock()
		return
	}
	// The writer sleeps, and as long as waiting is false nobody wakes it: the stream is the caller's.
	buf := o.tail
	o.tail, o.queued, o.control, o.waiting = nil, 0, 0, false
	o.wakeProducers()
	o.mu.Unlock()
	n := o.try.write(buf.B)
	o.mu.Lock()
	o.wrote = time.Now().UnixNano()
	if n < len(buf.B) {
		o.closeTail()
		o.segs = append([]segment{{buf.B[n:], buf}}, o.segs...)
		o.queued += len(buf.B) - n
	} else {
		buf.Release()
	}
	o.waiting = true
	o.Unlock()
}

// Nudge makes, under the lock, the writer call Refill even if nothing was appended.
func (o *Outlet) Nudge() { o.nudged = true }

// Room returns, under the lock, how many bytes producers should still append; not positive means hold back.
func (o *Outlet) Room() int { return o.limit - o.queued }

// WaitRoom returns, under the lock, a channel that is closed when there is room again or the Outlet ends.
func (o *Outlet) WaitRoom() <-chan struct{} {
	if o.room == nil {
		o.room = make(chan struct{})
	}
	return o.room
}

func (o *Outlet) wakeProducers() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// Closed reports, under the lock, whether appends are in vain.
func (o *Outlet) Closed() bool { return o.closed }

// Tail returns, under the lock, the open end to append at most n bytes to; the caller hands the result to SetTail.
func (o *Outlet) Tail(n int) []byte {
	if o.tail != nil && len(o.tail.B)+n > cap(o.tail.B) {
		o.closeTail()
	}
	if o.tail == nil {
		o.tail = bufpool.Get(max(n, block))
	}
	return o.tail.B
}

// SetTail ends what Tail began.
func (o *Outlet) SetTail(b []byte) {
	o.queued += len(b) - len(o.tail.B)
	o.tail.B = b
}

// Append copies, under the lock, b, whole frames, to the end.
func (o *Outlet) Append(b []byte) { o.SetTail(append(o.Tail(len(b)), b...)) }

// Now returns, under the lock, the Unix time in nanoseconds for a frame that is about to be appended. Reading the clock
// takes as long as all the rest of sending a small message, so of the frames that wait for one write eight share a time.
func (o *Outlet) Now() int64 {
	if o.reads == 0 || o.queued == 0 {
		o.now, o.reads = time.Now().UnixNano(), 8
	}
	o.reads--
	return o.now
}

// AppendControl appends, under the lock, a frame of at most n bytes that appendTo makes, and returns how many bytes of
// such frames wait for the next write.
func (o *Outlet) AppendControl(n int, appendTo func([]byte) []byte) int {
	before := o.queued
	o.SetTail(appendTo(o.Tail(n)))
	o.control += o.queued - before
	return o.control
}

// Share puts, under the lock, b, whole frames that lie in buf, at the end, and retains buf until they are written. It
// copies nothing if b fills most of buf; else it copies b, so that what waits for a write keeps at most twice its bytes.
func (o *Outlet) Share(buf *bufpool.Buf, b []byte) {
	if !fills(buf, b) {
		o.Append(b)
		return
	}
	if o.tail != nil && len(o.tail.B) > o.sealed {
		o.tail.Retain()
		o.segs = append(o.segs, segment{o.tail.B[o.sealed:], o.tail})
		o.sealed = len(o.tail.B)
	}
	buf.Retain()
	o.segs = append(o.segs, segment{b, buf})
	o.queued += len(b)
}

// closeTail moves the rest of tail into segs: what is appended next needs another buffer.
func (o *Outlet) closeTail() {
	switch {
	case o.tail == nil:
		return
	case len(o.tail.B) > o.sealed:
		o.segs = append(o.segs, segment{o.tail.B[o.sealed:], o.tail})
	default:
		o.tail.Release()
	}
	o.tail, o.sealed = nil, 0
}

// Close lets Run end once everything appended before is written.
func (o *Outlet) Close() {
	o.mu.Lock()
	o.closed = true
	o.Unlock()
}

// Done is closed when Run has ended.
func (o *Outlet) Done() <-chan struct{} { return o.done }

// Empty reports whether everything appended was handed to the stream.
func (o *Outlet) Empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queued == 0 && o.writing.Load() == 0
}

// Blocked returns how long the current write has been waiting for the peer; 0 if none is.
func (o *Outlet) Blocked(now time.Time) time.Duration {
	if since := o.writing.Load(); since != 0 {
		return now.Sub(time.Unix(0, since))
	}
	return 0
}

// Run writes to w until Close and everything is written (nil), or a write fails (its error). It is called once.
func (o *Outlet) Run(w io.Writer) error {
	o.mu.Lock()
	o.try = newTry(w)
	o.mu.Unlock()
	var batch []segment
	var err error
	for err == nil {
		o.mu.Lock()
		o.await()
		o.closeTail()
		batch, o.segs = o.segs, batch[:0]
		n := o.queued
		o.queued, o.control = 0, 0
		o.wakeProducers()
		if n > 0 {
			o.writing.Store(time.Now().UnixNano())
		}
		o.mu.Unlock()
		if n == 0 { // closed
			break
		}
		err = o.write(w, batch)
		o.writing.Store(0)
		release(batch)
		o.mu.Lock()
		o.wrote = time.Now().UnixNano()
		o.mu.Unlock()
	}
	o.mu.Lock()
	o.closed = true
	o.wakeProducers()
	o.closeTail()
	o.mu.Unlock()
	close(o.done)
	return err
}

// await returns, under the lock, when there is something to write or the Outlet is closed.
func (o *Outlet) await() {
	for {
		o.nudged = false
		if o.Refill != nil {
			if after := o.Refill(); after != nil {
				o.mu.Unlock()
				after()
				o.mu.Lock()
				continue
			}
		}
		if o.queued > 0 || o.closed {
			return
		}
		if o.nudged {
			continue
		}
		for o.waiting = true; o.waiting; {
			o.wake.Wait()
		}
	}
}

// Unsent hands take everything that was appended and never given to the stream, whole frames in order, and lets go of
// it. It is called after Done.
func (o *Outlet) Unsent(take func(frames []byte)) {
	o.mu.Lock()
	segs := o.segs
	o.segs, o.queued, o.control = nil, 0, 0
	o.mu.Unlock()
	for i := range segs {
		take(segs[i].b)
	}
	release(segs)
}

// Discard lets, under the lock, go of everything that was appended and not yet given to the stream.
func (o *Outlet) Discard() {
	o.closeTail()
	release(o.segs)
	o.segs, o.queued, o.control = o.segs[:0], 0, 0
}

func release(batch []segment) {
	for i := range batch {
		batch[i].buf.Release()
		batch[i] = segment{}
	}
}

// write uses one writev where the stream has it (net.Buffers), else a write per segment.
func (o *Outlet) write(w io.Writer, batch []segment) error {
	if len(batch) == 1 {
		_, err := w.Write(batch[0].b)
		return err
	}
	vec := o.vec[:0]
	for i := range batch {
		vec = append(vec, batch[i].b)
	}
	o.vec = vec
	_, err := o.vec.WriteTo(w)
	clear(vec)
	o.vec = vec[:0]
	return err
}
