package compress

import (
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// EncoderMemory is the memory that an Encoder keeps from its first byte on, in bytes, rounded up.
const EncoderMemory = 1 << 20

// streamWindow is the window of zstd streams, in bytes. It decides what an Encoder keeps.
const streamWindow = 128 << 10

// Step says what follows a piece of a stream.
type Step uint8

// The steps.
const (
	More  Step = iota // another piece: the encoder may keep bytes until then
	Flush             // a pause: the receiver can read all bytes so far
	End               // nothing
)

// Encoder compresses one stream after another, each in pieces. It is fast rather than thorough: gzip at level 1, zstd at its fastest.
type Encoder struct {
	Name string // Gzip or Zstd

	w interface {
		io.WriteCloser
		Flush() error
		Reset(w io.Writer)
	}
	out   []byte
	begun bool // Reset has been called for the stream
}

// NewEncoder returns an encoder. name is Gzip or Zstd.
func NewEncoder(name string) *Encoder {
	e := &Encoder{Name: name}
	if name == Zstd {
		e.w = must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(streamWindow), zstd.WithZeroFrames(true)))
	} else {
		e.w = must(gzip.NewWriterLevel(nil, gzip.BestSpeed))
	}
	return e
}

// Append compresses a piece of the stream and appends what it makes to dst, which may be nothing.
func (e *Encoder) Append(dst, piece []byte, then Step) (_ []byte, err error) {
	e.out = dst
	if !e.begun {
		e.w.Reset((*encoderOutput)(e))
		e.begun = true
	}
	_, err = e.w.Write(piece)
	switch {
	case err != nil:
	case then == Flush:
		err = e.w.Flush()
	case then == End:
		err = e.w.Close()
	}
	if then == End {
		e.Reset()
	}
	dst, e.out = e.out, nil
	return dst, err
}

// Reset makes the next piece the first one of another stream.
func (e *Encoder) Reset() { e.begun = false }

// encoderOutput appends what the library writes to Encoder.out.
type encoderOutput Encoder

func (o *encoderOutput) Write(p []byte) (int, error) {
	o.out = append(o.out, p...)
	return len(p), nil
}
