package log

import (
	"errors"
	"io"
)

const (
	readSize    = 256 << 10
	minReadSize = 4 << 10
)

// errRefill says that a walker needs another part of its file, and may not overwrite its buffer.
var errRefill = errors.New("log: the buffer has no more frames")

// walker reads the frames of a file one after another, readSize bytes at a time. Frames are parts of its buffer.
type walker struct {
	file    File
	salt    uint32
	limit   int64 // where the frames end
	buf     []byte
	base    int64 // offset in the file of buf
	at      int   // in buf, of the next frame
	damaged bool  // bytes that are no frame were skipped
	tail    int64 // offset from which on no frame is left, though the file has bytes; 0 if there is none
}

// offset returns where the next frame begins.
func (w *walker) offset() int64 { return w.base + int64(w.at) }

// seek makes next continue at an offset.
func (w *walker) seek(offset int64) {
	if offset >= w.base && offset <= w.base+int64(len(w.buf)) {
		w.at = int(offset - w.base)
		return
	}
	w.base, w.at, w.buf = offset, 0, w.buf[:0]
}

// next returns the next frame; io.EOF behind the last one. It skips bytes that are no frame. Unless fill is true, it returns errRefill
// instead of overwriting the buffer.
func (w *walker) next(fill bool) (frame, error) {
	for {
		f, s := parse(w.buf[w.at:], w.salt)
		need := max(int64(f.length), frameHeader)
		switch {
		case s == intact:
			w.at += f.length
			return f, nil
		case s == incomplete && w.offset()+need <= w.limit:
			if !fill {
				return frame{}, errRefill
			}
			if err := w.fill(need); err != nil {
				return frame{}, err
			}
		case w.offset() >= w.limit:
			return frame{}, io.EOF
		case !fill:
			return frame{}, errRefill
		default:
			if err := w.skip(f, s); err != nil {
				return frame{}, err
			}
		}
	}
}

// fill reads on from the next frame, at least need bytes.
func (w *walker) fill(need int64) error {
	n := max(need, min(readSize, w.limit-w.offset()))
	left := w.buf[w.at:]
	w.base, w.at = w.offset(), 0
	if int64(cap(w.buf)) < n {
		w.buf = make([]byte, 0, max(n, minReadSize))
	}
	w.buf = append(w.buf[:0], left...) // append copies overlapping bytes
	have := len(w.buf)
	w.buf = w.buf[:n]
	read, err := w.file.ReadAt(w.buf[have:], w.base+int64(have))
	w.buf = w.buf[:have+read]
	if errors.Is(err, io.EOF) {
		if int64(len(w.buf)) < n {
			w.limit = w.base + int64(len(w.buf)) // the file is shorter than it was
		}
		err = nil
	}
	return err
}

// skip moves behind bytes that are no frame, to the next frame or to the limit.
func (w *walker) skip(f frame, s state) error {
	bad := w.offset()
	if s == damaged && f.length > 0 {
		w.at += f.length // the header is intact, so the length can be trusted
		w.damaged = true
		return nil
	}
	for w.at++; w.offset()+frameHeader <= w.limit; w.at++ {
		f, s := parse(w.buf[w.at:], w.salt)
		need := max(int64(f.length), frameHeader)
		if s == incomplete && w.offset()+need <= w.limit {
			if err := w.fill(need); err != nil {
				return err
			}
			_, s = parse(w.buf[w.at:], w.salt)
		}
		if s == intact {
			w.damaged = true
			return nil
		}
	}
	w.tail = bad
	w.seek(w.limit)
	return nil
}
