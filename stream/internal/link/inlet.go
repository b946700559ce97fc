package link

import (
	"io"
	"sync/atomic"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/protocol/native"
)

const (
	minRead = 4 << 10   // an idle connection's buffer
	maxRead = 256 << 10 // a busy one's
	large   = 16 << 10  // frames from this size on get a buffer of their own, to be shared instead of copied
)

// Inlet cuts a byte stream into whole frames. It is for one goroutine; Progress may be called from others.
type Inlet struct {
	r        io.Reader
	maxFrame int
	buf      *bufpool.Buf // buf.B[start:] is what was read and not yet handed out
	start    int
	own      *bufpool.Buf // the large frame handed out last
	fail     error
	reads    atomic.Uint64
	partial  atomic.Bool
}

// NewInlet returns an Inlet that refuses frames of more than maxFrame bytes.
func NewInlet(r io.Reader, maxFrame int) *Inlet {
	return &Inlet{r: r, maxFrame: maxFrame, buf: bufpool.Get(minRead)}
}

// Next waits for at least one whole frame and returns all whole frames that have arrived, one behind the other. They are
// valid, and may be changed, until the next call. A large frame comes alone, in shared memory: whoever keeps it retains
// own; otherwise own is nil. The error is the stream's (io.ErrUnexpectedEOF for an end within a frame) or *native.Error.
func (in *Inlet) Next() (frames []byte, own *bufpool.Buf, err error) {
	if in.own != nil {
		in.own.Release()
		in.own = nil
	}
	for {
		rest := in.buf.B[in.start:]
		n := 0
		for in.fail == nil {
			f, err := native.Split(rest[n:], in.maxFrame)
			if err != nil {
				in.fail = err
			}
			if f == nil || (n > 0 && len(f) >= large) {
				break
			}
			n += len(f)
			if len(f) >= large {
				break
			}
		}
		switch {
		case n > 0 && n < large:
			in.take(n)
			return rest[:n:n], nil, nil
		case n > 0:
			return in.takeLarge(rest[:n])
		case in.fail != nil:
			return nil, nil, in.fail
		case len(rest) >= native.HeaderSize && native.Size(rest) >= large:
			if frames, own, err = in.readLarge(native.Size(rest)); frames != nil || err != nil {
				return frames, own, err
			}
		default:
			in.fill()
		}
	}
}

func (in *Inlet) take(n int) {
	in.start += n
	in.partial.Store(len(in.buf.B) > in.start)
}

// takeLarge hands out what lies whole in the buffer: small frames as they are, a large one in memory of its own.
func (in *Inlet) takeLarge(b []byte) ([]byte, *bufpool.Buf, error) {
	in.take(len(b))
	if native.Size(b) < len(b) { // several small frames, together as long as a large one
		return b[:len(b):len(b)], nil, nil
	}
	in.own = bufpool.Get(len(b))
	in.own.B = append(in.own.B, b...)
	return in.own.B, in.own, nil
}

// readLarge reads the rest of a large frame straight into memory of its own.
func (in *Inlet) readLarge(size int) ([]byte, *bufpool.Buf, error) {
	own := bufpool.Get(size)
	own.B = append(own.B, in.buf.B[in.start:]...)
	in.buf.B, in.start = in.buf.B[:0], 0
	have := len(own.B)
	own.B = own.B[:size]
	in.partial.Store(true)
	for have < size {
		n, err := in.r.Read(own.B[have:])
		in.reads.Add(1)
		if have += n; err != nil && have < size {
			own.Release()
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			in.fail = err
			return nil, nil, err
		}
	}
	in.partial.Store(false)
	if cap(in.buf.B) > minRead { // large frames follow large frames: peek at the next header only
		in.buf.Release()
		in.buf = bufpool.Get(minRead)
	}
	in.own = own
	return own.B, own, nil
}

// fill reads once more behind what is buffered, and makes room first where there is none.
func (in *Inlet) fill() {
	b := in.buf.B
	if in.start == len(b) {
		b, in.start = b[:0], 0
	} else if in.start > 0 && (len(b) == cap(b) || in.start >= cap(b)/2) {
		b, in.start = b[:copy(b, b[in.start:])], 0
	}
	if len(b) == cap(b) {
		bigger := bufpool.Get(min(2*cap(b), maxRead))
		bigger.B = append(bigger.B, b...)
		in.buf.Release()
		in.buf, b = bigger, bigger.B
	}
	n, err := in.r.Read(b[len(b):cap(b)])
	full := len(b)+n == cap(b)
	b = b[:len(b)+n]
	in.buf.B = b
	if full && cap(b) < maxRead { // the stream is busy: read more at a time
		bigger := bufpool.Get(4 * cap(b))
		bigger.B = append(bigger.B, b...)
		in.buf.Release()
		in.buf = bigger
	}
	in.reads.Add(1)
	in.partial.Store(len(in.buf.B) > in.start)
	if err != nil && n == 0 {
		if err == io.EOF && len(in.buf.B) > in.start {
			err = io.ErrUnexpectedEOF
		}
		in.fail = err
	}
}

// Progress returns how many reads there were, and whether after the last one part of a frame was left.
func (in *Inlet) Progress() (reads uint64, partial bool) {
	return in.reads.Load(), in.partial.Load()
}

// First waits for the first frame and returns only it.
func (in *Inlet) First() (native.Frame, error) {
	for {
		f, err := native.Split(in.buf.B[in.start:], in.maxFrame)
		if err == nil {
			err = in.fail
		}
		switch {
		case f != nil:
			in.take(len(f))
			return f, nil
		case err != nil:
			return nil, err
		}
		in.fill()
	}
}

// SetMaxFrame replaces the bound that NewInlet was given.
func (in *Inlet) SetMaxFrame(n int) { in.maxFrame = n }

// Close gives the buffers back. Next must not be called afterwards.
func (in *Inlet) Close() {
	if in.own != nil {
		in.own.Release()
		in.own = nil
	}
	in.buf.Release()
	in.buf = nil
}
