package cbor

import (
	"fmt"
	"io"

	"example.com/ferry/format"
	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/format/internal/utf8check"
)

// Validate reads data once and gives nil only for one well-formed item (RFC 8949, section 5.3.1) and nothing behind it,
// that consumers agree on: texts are UTF-8, each chunk of one by itself; no map holds a key twice, in whatever encoding;
// keys are no containers. Heads longer than they need to be, indefinite lengths and unknown tags are accepted, as every
// decoder reads them the same way. A tag counts as a level of nesting; more than 256 levels are refused even if
// Options.MaxDepth allows them.
func (Format) Validate(data []byte, o format.Options) error {
	v := validator{data: data, max: min(o.Depth(), maxNesting), strict: !o.BoundsOnly, keys: keys{data, o.FoldKeys}}
	end, err := v.item(0, 0)
	if err == nil && end < len(data) && !o.AllowTrailing {
		return syntax(end, fmt.Sprintf("%d bytes behind the message", len(data)-end))
	}
	return err
}

type validator struct {
	data   []byte
	max    int
	strict bool
	keys   keys
	seen   keyset.Stack
}

// item validates the item at pos, which stands in depth containers, and returns the offset behind it.
func (v *validator) item(pos, depth int) (int, error) {
	if uint(pos) >= uint(len(v.data)) {
		return 0, io.ErrUnexpectedEOF
	}
	b := v.data[pos]
	size := int(whole[b])
	if size == 0 || b == byteSimple {
		return v.long(pos, depth)
	}
	end := pos + size
	if end > len(v.data) {
		return 0, io.ErrUnexpectedEOF
	}
	if b>>5 == majorText && v.strict {
		return end, v.text(pos+1, end)
	}
	if b&^0x20 == majorArray<<5 && depth >= v.max { // an empty one
		return 0, tooDeep(pos, v.max)
	}
	return end, nil
}

// long validates an item that is not told by its initial byte.
func (v *validator) long(pos, depth int) (int, error) {
	h, err := readHead(v.data, pos)
	if err != nil {
		return 0, err
	}
	switch h.major {
	case majorBytes, majorText:
		return v.str(h)
	case majorArray, majorMap, majorTag:
		if depth >= v.max {
			return 0, tooDeep(pos, v.max)
		}
		if h.info != indefinite && h.arg > uint64(len(v.data)-h.next) && h.major != majorTag {
			return 0, io.ErrUnexpectedEOF
		}
		switch h.major {
		case majorArray:
			return v.array(h, depth+1)
		case majorMap:
			return v.pairs(h, depth+1)
		}
		return v.item(h.next, depth+1)
	case majorSimple:
		if v.data[pos] == byteSimple && h.arg < 32 {
			return 0, syntax(pos, fmt.Sprintf("simple value %d in two bytes", h.arg)) // RFC 8949, section 3.3
		}
	}
	return h.next, nil
}

func (v *validator) array(h head, depth int) (int, error) {
	pos := h.next
	for n := uint64(0); h.info == indefinite || n < h.arg; n++ {
		if h.info == indefinite {
			if end, err := atBreak(v.data, pos, h, 0); err != nil || end {
				return pos + 1, err
			}
		}
		var err error
		if pos, err = v.item(pos, depth); err != nil {
			return 0, err
		}
	}
	return pos, nil
}

func (v *validator) str(h head) (int, error) {
	if h.info != indefinite {
		if h.arg > uint64(len(v.data)-h.next) {
			return 0, io.ErrUnexpectedEOF
		}
		end := h.next + int(h.arg)
		if h.major == majorText && v.strict {
			return end, v.text(h.next, end)
		}
		return end, nil
	}
	for pos := h.next; ; {
		chunk, next, err := readChunk(v.data, pos, h.major)
		if err != nil || chunk == nil {
			return next, err
		}
		if h.major == majorText && v.strict {
			if err := v.text(next-len(chunk), next); err != nil {
				return 0, err
			}
		}
		pos = next
	}
}

// text refuses what is not UTF-8 in data[start:end]. RFC 8949, section 3.1, major type 3.
func (v *validator) text(start, end int) error {
	if bad := utf8check.Bad(v.data[start:end]); bad >= 0 {
		return syntax(start+bad, fmt.Sprintf("byte 0x%02x is not UTF-8, in a text", v.data[start+bad]))
	}
	return nil
}
