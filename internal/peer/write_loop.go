package peer

import (
	"io"
	"runtime"
	"slices"
	"time"

	"example.com/ferry/internal/clock"
)

// smallWrite is the most bytes, on a quiet stream, that a producer writes itself. Waking the writing goroutine costs
// more than such a write.
const smallWrite = 64 << 10

// Run writes to stream. It returns nil after Close once everything is written, or the error of a failed write. Call it
// once.
func (w *FrameWriter) Run(stream io.Writer) error {
	w.mu.Lock()
	w.nonblocking = newNonblocking(stream)
	w.mu.Unlock()
	var batch []segment
	var err error
	for err == nil {
		w.mu.Lock()
		w.await()
		w.closeTail()
		batch, w.segments = w.segments, batch[:0]
		n := w.queued
		w.queued, w.responses = 0, 0
		w.wakeProducers()
		if n > 0 {
			w.writingSince.Store(clock.Now())
		}
		w.mu.Unlock()
		if n == 0 { // the writer is closed and everything is written
			break
		}
		err = w.write(stream, batch)
		w.writingSince.Store(0)
		release(batch)
		if w.nonblocking != nil { // without it, UnlockFlush does not read lastWrite
			w.mu.Lock()
			w.lastWrite = clock.Now()
			w.mu.Unlock()
		}
	}
	w.end()
	return err
}

// end closes the FrameWriter and leaves the frames that were not written to TakeUnsent. It replaces Run for a stream that
// cannot be opened.
func (w *FrameWriter) end() {
	w.mu.Lock()
	w.closed = true
	w.wakeProducers()
	w.closeTail()
	w.mu.Unlock()
	close(w.done)
}

// await returns when there is something to write or the FrameWriter is closed. It is called under the lock.
func (w *FrameWriter) await() {
	for {
		w.nudged = false
		if w.Refill != nil {
			if after := w.Refill(); after != nil {
				w.mu.Unlock()
				after()
				w.mu.Lock()
				continue
			}
		}
		if w.queued > 0 || w.closed {
			return
		}
		if w.nudged {
			continue
		}
		for w.asleep = true; w.asleep; {
			w.wake.Wait()
		}
		if w.Gather {
			w.mu.Unlock()
			runtime.Gosched()
			w.mu.Lock()
		}
	}
}

// write uses one writev if the stream supports it (net.Buffers). Otherwise it writes each segment separately.
func (w *FrameWriter) write(stream io.Writer, batch []segment) error {
	if len(batch) == 1 {
		_, err := stream.Write(batch[0].bytes)
		return err
	}
	vector := w.vector[:0]
	for i := range batch {
		vector = append(vector, batch[i].bytes)
	}
	w.vector = vector
	_, err := w.vector.WriteTo(stream)
	clear(vector)
	w.vector = vector[:0]
	return err
}

// Flush writes the queued bytes directly if they are at most smallWrite, the queue is not full, and the stream accepts them without
// blocking. Otherwise it wakes the writing goroutine, which calls Refill.
func (w *FrameWriter) Flush() {
	w.Lock()
	w.UnlockFlush(0)
}

// UnlockFlush unlocks the FrameWriter and then acts like Flush, if the last write ended at least quiet ago. If it ended
// later, the writing goroutine gathers the frames of fast producers.
func (w *FrameWriter) UnlockFlush(quiet time.Duration) {
	if w.nonblocking == nil || !w.asleep || w.queued == 0 || w.queued > smallWrite || w.Room() <= 0 || w.closed ||
		(quiet > 0 && clock.Now()-w.lastWrite < int64(quiet)) {
		w.Unlock()
		return
	}
	// The writing goroutine sleeps, and nothing wakes it while asleep is false. So this goroutine may write to the
	// stream.
	w.closeTail()
	batch := w.segments
	w.segments, w.spare = w.spare[:0], batch
	w.queued, w.responses, w.asleep = 0, 0, false
	w.wakeProducers()
	w.mu.Unlock()
	left := w.writeNow(batch)
	w.mu.Lock()
	w.lastWrite = clock.Now()
	if len(left) > 0 {
		w.closeTail()
		w.segments = append(slices.Clone(left), w.segments...)
		for i := range left {
			w.queued += len(left[i].bytes)
		}
		clear(left)
	}
	w.asleep = true
	w.Unlock()
}

// writeNow writes what the stream accepts without blocking, and returns what is left of batch. It releases what was written.
func (w *FrameWriter) writeNow(batch []segment) (left []segment) {
	for i := range batch {
		s := &batch[i]
		if n := w.nonblocking.write(s.bytes); n < len(s.bytes) {
			s.bytes = s.bytes[n:]
			return batch[i:]
		}
		s.buf.Release()
		*s = segment{}
	}
	return nil
}
