package compress

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// maxWindow is the largest window of a zstd message in bytes. RFC 8878, section 3.1.1.1.2, recommends to support 8 MiB.
const maxWindow = 8 << 20

// zstdReader reads one message. With a concurrency of 1 it has no goroutine.
type zstdReader struct {
	zstd *zstd.Decoder
	in   bytes.Reader
}

// must returns v. The options of this file are constants, so a failure is a fault of this file.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var (
	zstdWriters = sync.Pool{New: func() any {
		return must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedFastest)))
	}}
	zstdReaders = sync.Pool{New: func() any {
		return &zstdReader{zstd: must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)))}
	}}
)

func appendZstd(dst, src []byte) []byte {
	w := zstdWriters.Get().(*zstd.Encoder)
	defer zstdWriters.Put(w)
	return w.EncodeAll(src, dst)
}

func expandZstd(dst, src []byte, limit int) ([]byte, error) {
	if len(src) == 0 { // no frame at all, which the library takes for an empty message
		return nil, io.ErrUnexpectedEOF
	}
	r := zstdReaders.Get().(*zstdReader)
	defer zstdReaders.Put(r)
	r.in.Reset(src)
	defer r.in.Reset(nil)
	if err := r.zstd.Reset(&r.in); err != nil {
		return nil, unexpected(err)
	}
	out, err := readAll(dst, r.zstd, limit)
	return out, unexpected(err)
}

// unexpected returns io.ErrUnexpectedEOF for io.EOF: the message has no end.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
