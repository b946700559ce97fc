package compress

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzipWriter appends what its gzip.Writer writes.
type gzipWriter struct {
	gzip *gzip.Writer
	out  []byte
}

func (w *gzipWriter) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

// gzipReader reads one message.
type gzipReader struct {
	gzip gzip.Reader
	in   bytes.Reader
}

var (
	gzipWriters = sync.Pool{New: func() any { return &gzipWriter{gzip: gzip.NewWriter(io.Discard)} }}
	gzipReaders = sync.Pool{New: func() any { return new(gzipReader) }}
)

func appendGzip(dst, src []byte) ([]byte, error) {
	w := gzipWriters.Get().(*gzipWriter)
	defer gzipWriters.Put(w)
	w.out = dst
	w.gzip.Reset(w)
	_, err := w.gzip.Write(src)
	if err == nil {
		err = w.gzip.Close()
	}
	out := w.out
	w.out = nil
	if err != nil {
		return dst, err
	}
	return out, nil
}

func expandGzip(dst, src []byte, limit int) ([]byte, error) {
	r := gzipReaders.Get().(*gzipReader)
	defer gzipReaders.Put(r)
	r.in.Reset(src)
	defer r.in.Reset(nil)
	if err := r.gzip.Reset(&r.in); err != nil {
		return nil, unexpected(err)
	}
	out, err := readAll(dst, &r.gzip, limit)
	return out, unexpected(err)
}
