package compress

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// The names of the encodings, as on the wire.
const (
	Gzip = "gzip"
	Zstd = "zstd"
)

// Names has all encodings, separated by commas.
const Names = Gzip + "," + Zstd

// ErrTooLarge says that a message is larger than the limit once it is expanded.
var ErrTooLarge = errors.New("compress: the message is too large")

// Known reports whether name is the name of an encoding.
func Known(name string) bool { return name == Gzip || name == Zstd }

// Append compresses src and appends the result to dst. The error names an unknown encoding.
func Append(dst, src []byte, name string) ([]byte, error) {
	switch name {
	case Gzip:
		return appendGzip(dst, src)
	case Zstd:
		return appendZstd(dst, src), nil
	}
	return dst, unknown(name)
}

// Expand decompresses src and appends the result to dst. A result of more than limit bytes gives ErrTooLarge, and takes
// memory for limit bytes at most, and that of the decoder: less than 1 MiB, whatever window the message claims. On any
// error the result is dst.
func Expand(dst, src []byte, name string, limit int) ([]byte, error) {
	var out []byte
	var err error
	switch name {
	case Gzip:
		out, err = expandGzip(dst, src, limit)
	case Zstd:
		out, err = expandZstd(dst, src, limit)
	default:
		return dst, unknown(name)
	}
	switch {
	case errors.Is(err, ErrTooLarge):
		return dst, fmt.Errorf("%w: it has more than %d bytes: raise the limit, or send less", ErrTooLarge, limit)
	case err != nil:
		return dst, fmt.Errorf("compress: %s: %w", name, err)
	}
	return out, nil
}

func unknown(name string) error {
	return fmt.Errorf("compress: unknown encoding %q: choose one of %s", name, Names)
}

// leastRoom is the room in bytes that a message is expanded into at first.
const leastRoom = 512

// readAll appends all of r to dst, at most limit bytes.
func readAll(dst []byte, r io.Reader, limit int) ([]byte, error) {
	most := len(dst) + limit
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, leastRoom)
		}
		// One byte more than the limit shows that the message is too large.
		n, err := r.Read(dst[len(dst):min(cap(dst), most+1)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > most:
			return nil, ErrTooLarge
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return nil, err
		}
	}
}
