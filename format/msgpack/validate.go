package msgpack

import (
	"encoding/binary"
	"fmt"
	"io"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/format/internal/utf8check"
)

// maxNesting bounds the recursion of Validate and Walk. Options.MaxDepth cannot raise it.
const maxNesting = 256

// Validate reads data once. It returns nil only if data is exactly one item that all consumers read in the same way.
// Texts must be UTF-8. Keys must be texts or integers, because many consumers support no others. A map must not have
// the same key twice. An extension of type timestamp must be valid. Forms longer than necessary and unknown extensions
// are accepted, because every decoder reads them in the same way. More than 256 levels are refused, even if
// Options.MaxDepth allows them.
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

// validateItem validates the item at pos, and returns the item's end. depth is the number of containers around the
// item.
func (v *validator) validateItem(pos, depth int) (int, error) {
	h, err := readHead(v.data, pos)
	if err != nil {
		return 0, err
	}
	if h.kind == field.List || h.kind == field.Map {
		switch {
		case depth >= v.maxDepth:
			return 0, depthError(pos, v.maxDepth)
		case h.items() > uint64(len(v.data)-h.off):
			return 0, io.ErrUnexpectedEOF
		case h.kind == field.Map:
			return v.validatePairs(h, depth+1)
		}
		pos = h.off
		for range h.n {
			if pos, err = v.validateItem(pos, depth+1); err != nil {
				return 0, err
			}
		}
		return pos, nil
	}
	if h.n > uint64(len(v.data)-h.off) {
		return 0, io.ErrUnexpectedEOF
	}
	end := h.off + int(h.n)
	if v.strict {
		switch h.kind {
		case field.Text:
			return end, v.validateText(h.off, end)
		case field.Extension:
			return end, v.validateExtension(pos, h.off, end)
		}
	}
	return end, nil
}

// timestampType is the type byte of the only extension that the specification defines. Section "Timestamp extension
// type".
const timestampType = 0xff // -1

// validateExtension refuses an invalid timestamp, because decoders disagree on its value.
func (v *validator) validateExtension(pos, off, end int) error {
	if v.data[off-1] != timestampType {
		return nil
	}
	var nanos uint64
	switch end - off {
	case 4:
	case 8:
		nanos = binary.BigEndian.Uint64(v.data[off:]) >> 34
	case 12:
		nanos = uint64(binary.BigEndian.Uint32(v.data[off:]))
	default:
		return syntaxError(pos, fmt.Sprintf("a timestamp of %d bytes where there are 4, 8 or 12", end-off))
	}
	if nanos > 999_999_999 {
		return syntaxError(pos, fmt.Sprintf("a timestamp of %d nanoseconds, which is a second or more", nanos))
	}
	return nil
}

// validateText refuses data[start:end] if it is not UTF-8. Specification, section "Type system", String.
func (v *validator) validateText(start, end int) error {
	if bad := utf8check.Bad(v.data[start:end]); bad >= 0 {
		return syntaxError(start+bad, fmt.Sprintf("byte 0x%02x is not UTF-8, in a text", v.data[start+bad]))
	}
	return nil
}

func depthError(offset, limit int) error {
	return syntaxError(offset, fmt.Sprintf("nested deeper than %d levels", limit))
}
