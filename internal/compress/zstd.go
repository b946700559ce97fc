package compress

import (
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// maxWindow is the largest window of a zstd message in bytes. RFC 8878, section 3.1.1.1.2, recommends to support 8 MiB.
const maxWindow = 8 << 20

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
		return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeAllCapLimit(true)))
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
	r := zstdReaders.Get().(*zstd.Decoder)
	defer zstdReaders.Put(r)
	// The message is expanded into dst, which is then the window too: a decoder that reads a stream would take the memory
	// of the window that the message claims. A message of unknown size is expanded again if the room is too small.
	most := limit
	if len(src) < limit/maxExpansion {
		most = len(src) * maxExpansion
	}
	for room := firstRoom(src, most); ; room = min(most, 4*room) {
		out, err := r.DecodeAll(src, slices.Grow(dst, room)[:len(dst):len(dst)+room])
		switch {
		case err == nil:
			return out, nil
		case room < most: // the error may be another one than that of the size if a block does not fit
		case !errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return nil, unexpected(err)
		case room == most && most < limit:
			return nil, io.ErrUnexpectedEOF // the message claims a size that it cannot have
		case room == most:
			return nil, ErrTooLarge
		}
	}
}

// maxExpansion is how many bytes one byte becomes at most: a block of at least four bytes has up to 128 KiB. RFC 8878,
// section 3.1.1.2.
const maxExpansion = 32 << 10

// firstRoom returns the room for the expanded src: the size that src claims, or a guess.
func firstRoom(src []byte, most int) int {
	var h zstd.Header
	if err := h.Decode(src); err == nil && h.HasFCS {
		return int(min(uint64(most), max(h.FrameContentSize, 1)))
	}
	return min(most, max(leastRoom, 4*len(src)))
}

// unexpected returns io.ErrUnexpectedEOF for io.EOF: the message has no end.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
