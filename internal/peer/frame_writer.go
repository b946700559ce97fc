package peer

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/bufpool"
)

// blockSize is the size in bytes of the buffers that small frames are gathered in.
const blockSize = 64 << 10

// FrameWriter gathers the frames for one byte stream. Producers append under Lock; one goroutine in Run writes. Frames
// that are appended during a write leave with the next one: the busier the stream, the larger its writes. The memory it
// keeps is at most twice the bytes that wait, and one block.
type FrameWriter struct {
	// Refill, if set, is called under the lock whenever the writing goroutine looks for bytes to write. It appends frames
	// that wait elsewhere, and returns a function to be called without the lock, or nil. It is set before Run.
	Refill func() (after func())

	mu           sync.Mutex
	wake         sync.Cond
	segments     []segment
	tail         *bufpool.Buf  // takes the next copied frames
	sealed       int           // bytes of tail that segments refer to
	queued       int           // bytes in segments, and in tail behind sealed
	responses    int           // bytes of queued that AppendResponse added
	limit        int           // bytes above which Room is not positive
	asleep       bool          // the writing goroutine sleeps
	nudged       bool          // Refill is to be called, though it may find nothing to write
	nonblocking  *nonblocking  // nil where the stream cannot be written to without blocking
	lastWrite    int64         // Unix nanoseconds when the last write ended
	now          int64         // time that Now returned last
	nowUses      int           // how often Now may return it again
	roomChanged  chan struct{} // closed when a write begins; nil while no producer waits
	closed       bool          // nothing more is appended; Run ends when everything is written
	done         chan struct{}
	writingSince atomic.Int64 // Unix nanoseconds when the current Write began; 0 while none runs
	vector       net.Buffers  // scratch of write
}

// segment is bytes to write and the buffer they lie in.
type segment struct {
	bytes []byte
	buf   *bufpool.Buf
}

// NewFrameWriter returns a FrameWriter whose Room is used up after limit bytes.
func NewFrameWriter(limit int) *FrameWriter {
	w := &FrameWriter{limit: limit, done: make(chan struct{})}
	w.wake.L = &w.mu
	return w
}

// Lock locks the FrameWriter for appending.
func (w *FrameWriter) Lock() { w.mu.Lock() }

// Unlock unlocks it, and wakes the writing goroutine if there is anything to write.
func (w *FrameWriter) Unlock() {
	wake := w.asleep && (w.queued > 0 || w.closed || w.nudged)
	if wake {
		w.asleep = false
	}
	w.mu.Unlock()
	if wake {
		w.wake.Signal()
	}
}

// UnlockLater unlocks it and lets the writing goroutine sleep, unless more than smallWrite bytes wait. The caller appends
// more soon, and then calls Flush.
func (w *FrameWriter) UnlockLater() {
	if w.queued > smallWrite {
		w.Unlock()
		return
	}
	w.mu.Unlock()
}

// Nudge makes, under the lock, the writing goroutine call Refill even if nothing was appended.
func (w *FrameWriter) Nudge() { w.nudged = true }

// Room returns, under the lock, how many more bytes producers should append. If it is not positive they wait.
func (w *FrameWriter) Room() int { return w.limit - w.queued }

// WaitRoom returns, under the lock, a channel that is closed when there is room again or the FrameWriter ends.
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

// Closed reports, under the lock, whether the FrameWriter was closed: frames appended now may never be written.
func (w *FrameWriter) Closed() bool { return w.closed }

// Tail returns, under the lock, the buffer to append at most n bytes to. The caller passes the result to SetTail.
func (w *FrameWriter) Tail(n int) []byte {
	if w.tail != nil && len(w.tail.B)+n > cap(w.tail.B) {
		w.closeTail()
	}
	if w.tail == nil {
		w.tail = bufpool.Get(max(n, blockSize))
	}
	return w.tail.B
}

// SetTail ends an append that Tail began.
func (w *FrameWriter) SetTail(b []byte) {
	w.queued += len(b) - len(w.tail.B)
	w.tail.B = b
}

// Append copies, under the lock, whole frames to the end.
func (w *FrameWriter) Append(frames []byte) { w.SetTail(append(w.Tail(len(frames)), frames...)) }

// AppendResponse appends, under the lock, a frame of at most n bytes that appendTo makes. It returns how many bytes of
// such frames wait for the next write.
func (w *FrameWriter) AppendResponse(n int, appendTo func([]byte) []byte) int {
	before := w.queued
	w.SetTail(appendTo(w.Tail(n)))
	w.responses += w.queued - before
	return w.responses
}

// Share puts, under the lock, frames that lie in buf at the end, and retains buf until they are written. It copies nothing
// if they fill most of buf; otherwise it copies them, because a few bytes would keep a large buffer.
func (w *FrameWriter) Share(buf *bufpool.Buf, frames []byte) {
	if !fills(buf, frames) {
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

// closeTail moves the rest of tail into segments. The next append takes a new buffer.
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

// Now returns, under the lock, the Unix time in nanoseconds for a frame that is about to be appended. Reading the clock
// takes as long as the rest of sending a small message, so up to eight frames of one write share a time.
func (w *FrameWriter) Now() int64 {
	if w.nowUses == 0 || w.queued == 0 {
		w.now, w.nowUses = time.Now().UnixNano(), 8
	}
	w.nowUses--
	return w.now
}

// Close lets Run end once everything appended before is written.
func (w *FrameWriter) Close() {
	w.mu.Lock()
	w.closed = true
	w.Unlock()
}

// Done is closed when Run has ended.
func (w *FrameWriter) Done() <-chan struct{} { return w.done }

// Empty reports whether everything appended was passed to the stream.
func (w *FrameWriter) Empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queued == 0 && w.writingSince.Load() == 0
}

// Blocked returns how long the current write has been blocked; 0 if there is none.
func (w *FrameWriter) Blocked(now time.Time) time.Duration {
	if since := w.writingSince.Load(); since != 0 {
		return now.Sub(time.Unix(0, since))
	}
	return 0
}

// TakeUnsent calls take with everything that was appended and never passed to the stream, whole frames in order, and then
// discards it. It is called after Done.
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

// Discard releases, under the lock, everything that was appended and not yet passed to the stream.
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
