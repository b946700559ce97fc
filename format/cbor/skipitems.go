package cbor

import (
	"fmt"
	"io"

	"example.com/ferry/internal/cborhead"
)

// skipItems returns the offset after n items and their content, starting at pos. It reads only heads. For a container
// of definite length it adds the number of items to n instead of recursing.
func skipItems(data []byte, pos, n, depth int) (int, error) {
	for ; n > 0; n-- {
		if uint(pos) >= uint(len(data)) {
			return 0, io.ErrUnexpectedEOF
		}
		if size := shortItemLength(data, pos); size != 0 {
			pos += size
			continue
		}
		next, more, err := skipHead(data, pos, depth)
		if err != nil {
			return 0, err
		}
		// Each item has at least one byte, so a count that exceeds the remaining bytes is wrong.
		if n-1 > len(data)-next-more {
			return 0, io.ErrUnexpectedEOF
		}
		pos, n = next, n+more
	}
	if pos > len(data) {
		return 0, io.ErrUnexpectedEOF
	}
	return pos, nil
}

// skipHead skips the head of an item whose length shortItemLength cannot determine. If the item is a string, it skips
// the content too. more is the number of items in a container that the caller must still skip.
func skipHead(data []byte, pos, depth int) (next, more int, err error) {
	h, err := cborhead.Read(data, pos)
	if err != nil {
		return 0, 0, err
	}
	left := uint64(len(data) - h.Next)
	switch h.Major {
	case cborhead.Bytes, cborhead.Text:
		if h.Info == cborhead.Indefinite {
			next, err = skipChunks(data, h)
			return next, 0, err
		}
		if h.Arg > left {
			return 0, 0, io.ErrUnexpectedEOF
		}
		return h.Next + int(h.Arg), 0, nil
	case cborhead.Array, cborhead.Map:
		if h.Info == cborhead.Indefinite {
			next, err = skipToBreak(data, h, depth+1)
			return next, 0, err
		}
		items := h.Arg
		if h.Major == cborhead.Map {
			left /= 2
			items *= 2
		}
		if h.Arg > left {
			return 0, 0, io.ErrUnexpectedEOF
		}
		return h.Next, int(items), nil
	case cborhead.Tag:
		return h.Next, 1, nil
	}
	return h.Next, 0, nil
}

// skipChunks returns the offset after a string of indefinite length. Such a string consists of definite strings of the
// same major type and a break. RFC 8949, section 3.2.3.
func skipChunks(data []byte, open head) (int, error) {
	pos := open.Next
	for {
		chunk, next, err := readChunk(data, pos, open.Major)
		if err != nil || chunk == nil {
			return next, err
		}
		pos = next
	}
}

// readChunk returns the chunk at pos and the offset after the chunk. For the break, chunk is nil.
func readChunk(data []byte, pos int, major byte) (chunk []byte, next int, err error) {
	if uint(pos) >= uint(len(data)) {
		return nil, 0, io.ErrUnexpectedEOF
	}
	if data[pos] == cborhead.Break {
		return nil, pos + 1, nil
	}
	h, err := cborhead.Read(data, pos)
	if err != nil {
		return nil, 0, err
	}
	if h.Major != major || h.Info == cborhead.Indefinite {
		return nil, 0, syntaxError(pos, fmt.Sprintf("initial byte 0x%02x where a chunk of an indefinite-length string should start", data[pos]))
	}
	if h.Arg > uint64(len(data)-h.Next) {
		return nil, 0, io.ErrUnexpectedEOF
	}
	next = h.Next + int(h.Arg)
	return data[h.Next:next:next], next, nil
}

// skipToBreak returns the offset after a container of indefinite length. open is the head of the container.
func skipToBreak(data []byte, open head, depth int) (int, error) {
	if depth > maxNesting {
		return 0, depthError(open.Next-1, maxNesting)
	}
	for pos, n := open.Next, 0; ; n++ {
		end, err := atBreak(data, pos, open, n)
		if err != nil || end {
			return pos + 1, err
		}
		if pos, err = skipItems(data, pos, 1, depth); err != nil {
			return 0, err
		}
	}
}

// atBreak reports whether a break at pos ends a container. open is the head of the container, n is the number of items
// before pos.
func atBreak(data []byte, pos int, open head, n int) (bool, error) {
	if uint(pos) >= uint(len(data)) {
		return false, io.ErrUnexpectedEOF
	}
	if data[pos] != cborhead.Break {
		return false, nil
	}
	if open.Major == cborhead.Map && n%2 != 0 {
		return false, syntaxError(pos, "a break (0xff) between a map's key and its value")
	}
	return true, nil
}

func depthError(offset, limit int) error {
	return syntaxError(offset, fmt.Sprintf("nested deeper than %d levels", limit))
}
