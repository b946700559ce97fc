package peer

import (
	"io"
	"sync/atomic"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

const (
	minRead    = 4 << 10  // buffer size of an idle stream, in bytes
	maxRead    = 64 << 10 // buffer size of a busy stream, in bytes; so it stays in the cache of a core
	largeFrame = 16 << 10 // frames of at least this many bytes get a buffer of their own, which is shared and not copied
)

// FrameReader cuts a byte stream into whole frames. One goroutine may use it. Progress may be called from other
// goroutines.
type FrameReader struct {
	stream   io.Reader
	maxFrame int
	lend     bool         // Next also returns the buffer of small frames
	buf      *bufpool.Buf // buf.B[start:] holds bytes read from the stream and not yet returned
	start    int
	shared   *bufpool.Buf // buffer of the large frame that Next returned last
	err      error        // error of the stream, or of a malformed frame
	reads    atomic.Uint64
	partial  atomic.Bool // part of a frame has arrived
}

// NewFrameReader returns a FrameReader that refuses frames of more than maxFrame bytes.
func NewFrameReader(stream io.Reader, maxFrame int) *FrameReader {
	return &FrameReader{stream: stream, maxFrame: maxFrame, buf: bufpool.Get(minRead)}
}

// Next waits for at least one whole frame. It returns all whole frames that have arrived, one after the other. The
// caller may change them. They are valid until the next call. A large frame is returned alone, with the shared buffer
// that holds it. To keep the frame, retain that buffer. For small frames shared is nil. But if Config.Lend is set and the
// frames have at least 16 KiB together, shared is the buffer that holds them. The error is the stream's error or a *native.Error.
// If the stream ends within a frame, the error is io.ErrUnexpectedEOF.
func (r *FrameReader) Next() (frames []byte, shared *bufpool.Buf, err error) {
	if r.shared != nil {
		r.shared.Release()
		r.shared = nil
	}
	for {
		unread := r.buf.B[r.start:]
		n := r.wholeFrames(unread)
		switch {
		case n > 0 && n < largeFrame:
			r.consume(n)
			return unread[:n:n], nil, nil
		case n > 0:
			return r.returnLarge(unread[:n])
		case r.err != nil:
			return nil, nil, r.err
		case len(unread) >= native.HeaderSize && native.Size(unread) >= largeFrame:
			if frames, shared, err = r.readLarge(native.Size(unread)); frames != nil || err != nil {
				return frames, shared, err
			}
		default:
			r.fill()
		}
	}
}

// wholeFrames returns the length of the frames at the start of b that Next returns together. These are all small frames
// before the first large one, or one large frame.
func (r *FrameReader) wholeFrames(b []byte) (n int) {
	for r.err == nil {
		if size := native.PlainPub(b[n:]); size > 0 && size <= r.maxFrame && size < largeFrame { // nearly all frames
			n += size
			continue
		}
		f, err := native.Split(b[n:], r.maxFrame)
		if err != nil {
			r.err = err
		}
		if f == nil || (n > 0 && len(f) >= largeFrame) {
			break
		}
		n += len(f)
		if len(f) >= largeFrame {
			break
		}
	}
	return n
}

func (r *FrameReader) consume(n int) {
	r.start += n
	r.partial.Store(len(r.buf.B) > r.start)
}

// returnLarge returns frames that are complete in the buffer. Small frames stay where they are. A large frame is copied
// to a buffer of its own.
func (r *FrameReader) returnLarge(b []byte) ([]byte, *bufpool.Buf, error) {
	r.consume(len(b))
	if native.Size(b) < len(b) { // b holds several small frames, which together are as long as a large frame
		if r.lend {
			return b[:len(b):len(b)], r.buf, nil
		}
		return b[:len(b):len(b)], nil, nil
	}
	r.shared = bufpool.Get(len(b))
	r.shared.B = append(r.shared.B, b...)
	return r.shared.B, r.shared, nil
}

// readLarge reads the rest of a large frame directly into a buffer of its own.
func (r *FrameReader) readLarge(size int) ([]byte, *bufpool.Buf, error) {
	shared := bufpool.Get(size)
	shared.B = append(shared.B, r.buf.B[r.start:]...)
	if r.buf.Shared() {
		r.buf.Release()
		r.buf = bufpool.Get(minRead)
	}
	r.buf.B, r.start = r.buf.B[:0], 0
	have := len(shared.B)
	shared.B = shared.B[:size]
	r.partial.Store(true)
	for have < size {
		n, err := r.stream.Read(shared.B[have:])
		r.reads.Add(1)
		if have += n; err != nil && have < size {
			shared.Release()
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			r.err = err
			return nil, nil, err
		}
	}
	r.partial.Store(false)
	if cap(r.buf.B) > minRead { // another large frame is likely: the next read needs room for a header only
		r.buf.Release()
		r.buf = bufpool.Get(minRead)
	}
	r.shared = shared
	return shared.B, shared, nil
}

// fill reads once and appends to the bytes in the buffer. If the buffer is full, it makes room first.
func (r *FrameReader) fill() {
	if r.buf.Shared() { // the frames in it were kept
		fresh := bufpool.Get(cap(r.buf.B))
		fresh.B = append(fresh.B, r.buf.B[r.start:]...)
		r.buf.Release()
		r.buf, r.start = fresh, 0
	}
	b := r.buf.B
	if r.start == len(b) {
		b, r.start = b[:0], 0
	} else if r.start > 0 && (len(b) == cap(b) || r.start >= cap(b)/2) {
		b, r.start = b[:copy(b, b[r.start:])], 0
	}
	if len(b) == cap(b) {
		bigger := bufpool.Get(min(2*cap(b), maxRead))
		bigger.B = append(bigger.B, b...)
		r.buf.Release()
		r.buf, b = bigger, bigger.B
	}
	n, err := r.stream.Read(b[len(b):cap(b)])
	full := len(b)+n == cap(b)
	b = b[:len(b)+n]
	r.buf.B = b
	if full && cap(b) < maxRead { // the stream is busy: use a larger buffer
		bigger := bufpool.Get(4 * cap(b))
		bigger.B = append(bigger.B, b...)
		r.buf.Release()
		r.buf = bigger
	}
	r.reads.Add(1)
	r.partial.Store(len(r.buf.B) > r.start)
	if err != nil && n == 0 {
		if err == io.EOF && len(r.buf.B) > r.start {
			err = io.ErrUnexpectedEOF
		}
		r.err = err
	}
}

// Progress returns the number of reads so far, and whether the last read left a partial frame.
func (r *FrameReader) Progress() (reads uint64, partial bool) {
	return r.reads.Load(), r.partial.Load()
}

// First waits for the first frame and returns that frame only. maxFrame must be less than largeFrame, because First
// does not read large frames.
func (r *FrameReader) First() (native.Frame, error) {
	for {
		f, err := native.Split(r.buf.B[r.start:], r.maxFrame)
		if err == nil {
			err = r.err
		}
		switch {
		case f != nil:
			r.consume(len(f))
			return f, nil
		case err != nil:
			return nil, err
		}
		r.fill()
	}
}

// SetMaxFrame replaces the maxFrame of NewFrameReader.
func (r *FrameReader) SetMaxFrame(n int) { r.maxFrame = n }

// Close releases the buffers. Next must not be called afterwards.
func (r *FrameReader) Close() {
	if r.shared != nil {
		r.shared.Release()
		r.shared = nil
	}
	r.buf.Release()
	r.buf = nil
}
