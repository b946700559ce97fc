package cbor

import (
	"errors"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
	"example.com/ferry/internal/cborhead"
)

var errForeignSpan = errors.New("cbor: the span does not lie in the data: it comes from another message")

// Value decodes the scalar at s. Tags are ignored. The simple value undefined becomes Null, and a float of any width
// becomes a Float. An integer below the lowest int64 can only be read as a float, or by Number. Text and Bytes are views
// into data unless the string consists of chunks.
func (Format) Value(data []byte, s field.Span, as field.Type) (field.Value, error) {
	if s.Head < 0 || s.Head > s.End || s.End > len(data) {
		return field.Value{}, errForeignSpan
	}
	data = data[:s.End]
	h, at, err := skipTags(data, s.Head)
	if err != nil {
		return field.Value{}, err
	}
	end, err := skipItems(data, at, 1, 0)
	if err != nil {
		return field.Value{}, err
	}
	v := field.Value{Kind: kindByInitialByte[data[at]]}
	switch v.Kind {
	case field.Int:
		switch {
		case h.Major == cborhead.Uint:
			v.Int, v.Unsigned = int64(h.Arg), h.Arg > math.MaxInt64
		case h.Arg <= math.MaxInt64:
			v.Int = -1 - int64(h.Arg)
		case as == field.Float32 || as == field.Float64:
			v.Kind, v.Float = field.Float, -1-float64(h.Arg)
		default:
			return field.Value{}, &format.TypeError{Format: "cbor", Have: v.Kind, Want: as, Reason: "it is below the least int64: read it as a float64"}
		}
	case field.Float:
		v.Float = floatOf(h)
	case field.Bool:
		v.Bool = data[at] == cborhead.True
	case field.Text, field.Bytes:
		v.Bytes = stringContent(data, h, end)
	case field.Null:
	default:
		return field.Value{}, &format.TypeError{Format: "cbor", Have: v.Kind, Want: as, Reason: "it is no scalar: name one inside it"}
	}
	return convert.Read("cbor", v, as)
}

// View returns the content of a text of definite length. It allocates nothing.
func (Format) View(data []byte, s field.Span) ([]byte, bool) {
	if uint(s.End) > uint(len(data)) || uint(s.Off) > uint(s.End) || uint(s.Head) >= uint(s.Off) {
		return nil, false
	}
	if b := data[s.Head]; b>>5 != cborhead.Text || b&31 >= 28 {
		return nil, false
	}
	return data[s.Off:s.End:s.End], true
}

// stringContent returns the content of a string. h is the head of the string, end is the offset after the string. The
// content is a part of data, or a copy if the string consists of chunks.
func stringContent(data []byte, h head, end int) []byte {
	if h.Info != cborhead.Indefinite {
		return data[h.Next:end:end]
	}
	joined := make([]byte, 0, end-h.Next-1)
	for pos := h.Next; ; {
		chunk, next, err := readChunk(data, pos, h.Major)
		if err != nil || chunk == nil {
			return joined
		}
		joined, pos = append(joined, chunk...), next
	}
}

// floatOf returns the float in the head h: IEEE 754 binary16, binary32 or binary64. RFC 8949, section 3.3.
func floatOf(h head) float64 {
	switch h.Info {
	case cborhead.Float16 & 31:
		return cborhead.Half(uint16(h.Arg))
	case cborhead.Float32 & 31:
		return float64(math.Float32frombits(uint32(h.Arg)))
	}
	return math.Float64frombits(h.Arg)
}
