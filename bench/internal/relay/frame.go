package relay

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	buffer = 256 << 10 // bytes, for reading and for writing
	header = 8         // length of the payload and tag, four bytes each
)

// peek returns the next frame, which stays valid until it is discarded. If the frame has not arrived yet, idle is called
// before waiting.
func peek(r *bufio.Reader, idle func() error) ([]byte, error) {
	if r.Buffered() < header {
		if err := idle(); err != nil {
			return nil, err
		}
	}
	head, err := r.Peek(header)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	size := header + int64(binary.BigEndian.Uint32(head))
	if size > buffer {
		return nil, fmt.Errorf("relay: frame of %d bytes: at most %d", size, buffer)
	}
	if int64(r.Buffered()) < size {
		if err := idle(); err != nil {
			return nil, err
		}
	}
	frame, err := r.Peek(int(size))
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return frame, err
}

// forward copies frames until r ends.
func forward(r *bufio.Reader, w *bufio.Writer) error {
	for {
		frame, err := peek(r, w.Flush)
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(frame); err != nil {
			return err
		}
		if _, err := r.Discard(len(frame)); err != nil {
			return err
		}
	}
}
