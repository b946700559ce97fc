package cbor

import (
	"fmt"
	"io"

	"example.com/ferry/format"
	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/format/internal/utf8check"
	"example.com/ferry/internal/cborhead"
)

// Validate reads data once. It returns nil only if data is exactly one well-formed item (RFC 8949, section 5.3.1) that
// all consumers read the same way. Texts and their chunks must be UTF-8. No map may contain a key twice, in any
// encoding. No key may be a container. Heads longer than necessary, indefinite lengths and unknown tags are accepted,
// because every decoder reads them the same way. A tag counts as a level of nesting. More than 256 levels are refused
// even if Options.MaxDepth allows them.
func (Format) Validate(data []byte, o format.Options) error {
	v := validator{data: data, maxDepth: min(o.Depth(), maxNesting), strict: !o.BoundsOnly, keys: keyset.Keys{Reader: keyReader{}, Data: data, Fold: o.FoldKeys}}
	end, err := v.validateItem(0, 0)
	if err == nil && end < len(data) && !o.AllowTrailing {
		return syntaxError(end, fmt.Sprintf("%d bytes behind the message", len(data)-end))
	}
	return err
}

type validator struct {
	data     []byte
	maxDepth int
	strict   bool
	keys     keyset.Keys
	seen     keyset.Stack
}

// validateItem validates the item at pos and returns the offset after the item. depth is the number of containers
// around the item.
func (v *validator) validateItem(pos, depth int) (int, error) {
	if uint(pos) >= uint(len(v.data)) {
		return 0, io.ErrUnexpectedEOF
	}
	b := v.data[pos]
	size := int(lengthByInitialByte[b])
	if size == 0 || b == cborhead.SimpleArg {
		return v.validateLongItem(pos, depth)
	}
	end := pos + size
	if end > len(v.data) {
		return 0, io.ErrUnexpectedEOF
	}
	if b>>5 == cborhead.Text && v.strict {
		return end, v.validateText(pos+1, end)
	}
	if b&^0x20 == cborhead.Array<<5 && depth >= v.maxDepth { // this is an empty container
		return 0, depthError(pos, v.maxDepth)
	}
	return end, nil
}

// validateLongItem validates an item whose initial byte does not determine its length.
func (v *validator) validateLongItem(pos, depth int) (int, error) {
	h, err := cborhead.Read(v.data, pos)
	if err != nil {
		return 0, err
	}
	switch h.Major {
	case cborhead.Bytes, cborhead.Text:
		return v.validateString(h)
	case cborhead.Array, cborhead.Map, cborhead.Tag:
		if depth >= v.maxDepth {
			return 0, depthError(pos, v.maxDepth)
		}
		if h.Info != cborhead.Indefinite && h.Arg > uint64(len(v.data)-h.Next) && h.Major != cborhead.Tag {
			return 0, io.ErrUnexpectedEOF
		}
		switch h.Major {
		case cborhead.Array:
			return v.validateArray(h, depth+1)
		case cborhead.Map:
			return v.validatePairs(h, depth+1)
		}
		return v.validateItem(h.Next, depth+1)
	case cborhead.Simple:
		if v.data[pos] == cborhead.SimpleArg && h.Arg < 32 {
			return 0, syntaxError(pos, fmt.Sprintf("simple value %d in two bytes", h.Arg)) // RFC 8949, section 3.3
		}
	}
	return h.Next, nil
}

func (v *validator) validateArray(h head, depth int) (int, error) {
	pos := h.Next
	for n := uint64(0); h.Info == cborhead.Indefinite || n < h.Arg; n++ {
		if h.Info == cborhead.Indefinite {
			if end, err := atBreak(v.data, pos, h, 0); err != nil || end {
				return pos + 1, err
			}
		}
		var err error
		if pos, err = v.validateItem(pos, depth); err != nil {
			return 0, err
		}
	}
	return pos, nil
}

func (v *validator) validateString(h head) (int, error) {
	if h.Info != cborhead.Indefinite {
		if h.Arg > uint64(len(v.data)-h.Next) {
			return 0, io.ErrUnexpectedEOF
		}
		end := h.Next + int(h.Arg)
		if h.Major == cborhead.Text && v.strict {
			return end, v.validateText(h.Next, end)
		}
		return end, nil
	}
	for pos := h.Next; ; {
		chunk, next, err := readChunk(v.data, pos, h.Major)
		if err != nil || chunk == nil {
			return next, err
		}
		if h.Major == cborhead.Text && v.strict {
			if err := v.validateText(next-len(chunk), next); err != nil {
				return 0, err
			}
		}
		pos = next
	}
}

// validateText refuses bytes that are not UTF-8 in data[start:end]. RFC 8949, section 3.1, major type 3.
func (v *validator) validateText(start, end int) error {
	if bad := utf8check.Bad(v.data[start:end]); bad >= 0 {
		return syntaxError(start+bad, fmt.Sprintf("byte 0x%02x is not UTF-8, in a text", v.data[start+bad]))
	}
	return nil
}
