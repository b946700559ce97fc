package peer

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/clock"
)

// blockSize is the size, in bytes, of a buffer that gathers small frames.
const blockSize = 64 << 10

// FrameWriter gathers the frames for one byte stream. Producers append under Lock. One goroutine writes, in Run. Frames
// appended during a write leave together in the next write, so a busier stream makes larger writes. A FrameWriter uses
// at most twice the memory of the waiting bytes, plus one block.
type FrameWriter struct {
	// Refill, if set, is called under the lock whenever the writing goroutine looks for bytes to write. It appends
	// frames from other queues. The function it returns, if not nil, is called without the lock. Set Refill before Run.
	Refill func() (after func())

	// Gather makes the writing goroutine let other goroutines run before it writes. It is for streams with many producers of
	// short frames: what they append leaves in one write. Set Gather before Run, or under the lock.
	Gather bool

	mu           sync.Mutex
	wake         sync.Cond
	segments     []segment
	tail         *bufpool.Buf  // buffer for the next copied frames
	sealed       int           // bytes of tail that segments already refer to
	queued       int           // bytes in segments, plus the bytes of tail after sealed
	responses    int           // bytes of queued that are responses
	limit        int           // bytes in the queue at which Room is 0
	asleep       bool          // the writing goroutine sleeps
	nudged       bool          // Refill must be called even if nothing was appended
	nonblocking  *nonblocking  // nil if the stream cannot be written to without blocking
	lastWrite    int64         // clock.Now when the last write ended
	now          int64         // last result of Now
	nowUses      int           // how many more calls of Now may return the same time
	roomChanged  chan struct{} // closed when a write begins; nil if no producer waits
	closed       bool          // nothing more may be appended; Run returns once everything is written
	done         chan struct{}
	driver       func()       // replaces the writing goroutine's wake-up: see NewDriven
	spare        []segment    // the last batch of TakeQueued or UnlockFlush, reused
	ended        bool         // EndDriven was called
	writingSince atomic.Int64 // clock.Now when the current Write began; 0 without one
	vector       net.Buffers  // reused by write
}

// segment is a run of bytes to write, and the buffer that holds it.
type segment struct {
	bytes []byte
	buf   *bufpool.Buf
}

// NewFrameWriter returns a FrameWriter. Room is 0 once limit bytes are queued.
func NewFrameWriter(limit int) *FrameWriter {
	w := &FrameWriter{limit: limit, done: make(chan struct{})}
	w.wake.L = &w.mu
	return w
}

// Lock locks the FrameWriter for appending.
func (w *FrameWriter) Lock() { w.mu.Lock() }

// Unlock unlocks the FrameWriter and wakes the writing goroutine if there is anything to write.
func (w *FrameWriter) Unlock() {
	wake := w.asleep && (w.queued > 0 || w.closed || w.nudged)
	if wake {
		w.asleep = false
	}
	w.mu.Unlock()
	switch {
	case !wake:
	case w.driver != nil:
		w.driver()
	default:
		w.wake.Signal()
	}
}

// UnlockLater unlocks the FrameWriter. It wakes the writing goroutine only if more than smallWrite bytes wait. The
// caller appends more soon, and then calls Flush.
func (w *FrameWriter) UnlockLater() {
	if w.queued > smallWrite {
		w.Unlock()
		return
	}
	w.mu.Unlock()
}

// Nudge makes the writing goroutine call Refill even if nothing was appended. It is called under the lock.
func (w *FrameWriter) Nudge() { w.nudged = true }

// Room returns how many more bytes producers should append. If it is not positive, producers wait. It is called under
// the lock.
func (w *FrameWriter) Room() int { return w.limit - w.queued }

// WaitRoom returns a channel that is closed when there is room again or the FrameWriter ends. It is called under the
// lock.
func (w *FrameWriter) WaitRoom() <-chan struct{} {
	if w.roomChanged == nil {
		w.roomChanged = make(chan struct{})
	}
	return w.roomChanged
}

func (w *FrameWriter) wakeProducers() {
	if w.roomChanged != nil {
		close(w.roomChanged)
		w.roomChanged = nil
	}
}

// Closed reports whether the FrameWriter is closed. Frames appended after that may never be written. It is called under
// the lock.
func (w *FrameWriter) Closed() bool { return w.closed }

// Tail returns a buffer to which the caller appends at most n bytes. The caller then passes the result to SetTail. It
// is called under the lock.
func (w *FrameWriter) Tail(n int) []byte {
	if w.tail != nil && len(w.tail.B)+n > cap(w.tail.B) {
		w.closeTail()
	}
	if w.tail == nil {
		w.tail = bufpool.Get(max(n, blockSize))
	}
	return w.tail.B
}

// SetTail completes an append that began with Tail.
func (w *FrameWriter) SetTail(b []byte) {
	w.queued += len(b) - len(w.tail.B)
	w.tail.B = b
}

// Append copies whole frames to the end of the queue. It is called under the lock.
func (w *FrameWriter) Append(frames []byte) { w.SetTail(append(w.Tail(len(frames)), frames...)) }

// AppendResponse appends a response of at most n bytes, which appendTo makes. It returns how many bytes of responses
// wait for the next write. It is called under the lock.
func (w *FrameWriter) AppendResponse(n int, appendTo func([]byte) []byte) int {
	before := w.queued
	w.SetTail(appendTo(w.Tail(n)))
	w.responses += w.queued - before
	return w.responses
}

// Share appends frames that lie in buf, and retains buf until they are written. It copies nothing if the frames fill
// most of buf. Otherwise it copies them, so that a few bytes do not keep a large buffer. It is called under the lock.
func (w *FrameWriter) Share(buf *bufpool.Buf, frames []byte) {
	if !fillsHalf(buf, frames) {
		w.Append(frames)
		return
	}
	if w.tail != nil && len(w.tail.B) > w.sealed {
		w.tail.Retain()
		w.segments = append(w.segments, segment{w.tail.B[w.sealed:], w.tail})
		w.sealed = len(w.tail.B)
	}
	buf.Retain()
	w.segments = append(w.segments, segment{frames, buf})
	w.queued += len(frames)
}

// closeTail adds the rest of tail to segments. The next append uses a new buffer.
func (w *FrameWriter) closeTail() {
	switch {
	case w.tail == nil:
		return
	case len(w.tail.B) > w.sealed:
		w.segments = append(w.segments, segment{w.tail.B[w.sealed:], w.tail})
	default:
		w.tail.Release()
	}
	w.tail, w.sealed = nil, 0
}

// Now returns the Unix time in nanoseconds, for a frame that is about to be appended. It is called under the lock.
// Reading the clock costs as much as the rest of sending a small message. So up to 32 frames of one write share a
// time.
func (w *FrameWriter) Now() int64 {
	if w.nowUses == 0 || w.queued == 0 {
		w.now, w.nowUses = time.Now().UnixNano(), 32
	}
	w.nowUses--
	return w.now
}

// Close makes Run return once everything appended earlier is written.
func (w *FrameWriter) Close() {
	w.mu.Lock()
	w.closed = true
	w.Unlock()
}

// Done returns a channel that is closed when Run has returned.
func (w *FrameWriter) Done() <-chan struct{} { return w.done }

// Empty reports whether all appended bytes were passed to the stream.
func (w *FrameWriter) Empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queued == 0 && w.writingSince.Load() == 0
}

// Blocked returns how long the current write has been blocked, or 0 if there is no write.
func (w *FrameWriter) Blocked(now time.Time) time.Duration {
	if since := w.writingSince.Load(); since != 0 {
		return time.Duration(clock.At(now) - since)
	}
	return 0
}

// TakeUnsent passes all unsent frames to take, in order, and then discards them. It never splits a frame. Call it after
// Done.
func (w *FrameWriter) TakeUnsent(take func(frames []byte)) {
	w.mu.Lock()
	segments := w.segments
	w.segments, w.queued, w.responses = nil, 0, 0
	w.mu.Unlock()
	for i := range segments {
		take(segments[i].bytes)
	}
	release(segments)
}

// Discard releases all bytes that were not yet passed to the stream. It is called under the lock.
func (w *FrameWriter) Discard() {
	w.closeTail()
	release(w.segments)
	w.segments, w.queued, w.responses = w.segments[:0], 0, 0
}

func release(batch []segment) {
	for i := range batch {
		batch[i].buf.Release()
		batch[i] = segment{}
	}
}
