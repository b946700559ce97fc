package cbor

import (
	"example.com/ferry/format/internal/utf8check"
	"example.com/ferry/internal/cborhead"
)

// Mask implements format.Masker. Heads, keys and tags matter. What is free: the content of byte strings, ASCII for ASCII in texts, the
// argument and the sign of integers, the bits of floats, and which one of false, true, null and undefined a value is.
func (Format) Mask(mask, data []byte) bool {
	for i := range mask {
		mask[i] = 0xff
	}
	m := masker{mask, data}
	_, ok := m.item(0, 0)
	return ok
}

// The bits that matter of an initial byte.
const (
	maskSmallInteger = 0xd8 // 0 to 23: the lowest three bits never lead out of that range; 0x20 is the sign
	maskInteger      = 0xdf
	maskFalseToUndef = 0xfc
	maskASCII        = 0x80
)

type masker struct{ mask, data []byte }

// item masks the value at pos and returns the offset after it. ok is false if the data is not valid.
func (m masker) item(pos, depth int) (end int, ok bool) {
	h, err := cborhead.Read(m.data, pos)
	if err != nil || depth > maxNesting {
		return 0, false
	}
	switch h.Major {
	case cborhead.Uint, cborhead.Nint:
		m.mask[pos] = maskInteger
		if h.Info < 24 {
			m.mask[pos] = maskSmallInteger
		}
		clear(m.mask[pos+1 : h.Next])
	case cborhead.Simple:
		switch {
		case m.data[pos] >= cborhead.Float16:
			clear(m.mask[pos+1 : h.Next])
		case m.data[pos] >= cborhead.False && m.data[pos] <= cborhead.Undefined:
			m.mask[pos] = maskFalseToUndef
		}
	case cborhead.Tag:
		return m.item(h.Next, depth+1)
	case cborhead.Array, cborhead.Map:
		return m.items(h, depth+1)
	default:
		return m.str(h)
	}
	return h.Next, true
}

// items masks the content of a container.
func (m masker) items(h head, depth int) (end int, ok bool) {
	pos := h.Next
	for n := uint64(0); h.Info == cborhead.Indefinite || n < h.Arg; n++ {
		if h.Info == cborhead.Indefinite {
			if end, err := atBreak(m.data, pos, h, 0); err != nil || end {
				return pos + 1, err == nil
			}
		}
		if h.Major == cborhead.Map {
			var err error
			if pos, err = skipItems(m.data, pos, 1, depth); err != nil {
				return 0, false
			}
		}
		if pos, ok = m.item(pos, depth); !ok {
			return 0, false
		}
	}
	return pos, true
}

// str masks the content of a string, or of each of its chunks.
func (m masker) str(h head) (end int, ok bool) {
	if h.Info != cborhead.Indefinite {
		if h.Arg > uint64(len(m.data)-h.Next) {
			return 0, false
		}
		end := h.Next + int(h.Arg)
		m.content(h.Major, h.Next, end)
		return end, true
	}
	for pos := h.Next; ; {
		chunk, next, err := readChunk(m.data, pos, h.Major)
		if err != nil || chunk == nil {
			return next, err == nil
		}
		m.content(h.Major, next-len(chunk), next)
		pos = next
	}
}

func (m masker) content(major byte, start, end int) {
	switch content := m.mask[start:end]; {
	case major == cborhead.Bytes:
		clear(content)
	case utf8check.ASCII(m.data[start:end]):
		for i := range content {
			content[i] = maskASCII
		}
	}
}
