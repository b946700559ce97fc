package cbor

import (
	"errors"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
)

var errSpan = errors.New("cbor: the span does not lie in the data: it comes from another message")

// Value decodes the scalar at s. Tags are looked through, undefined is null, a float of any width is a Float. An integer
// below the least int64 can only be read as a float. Text and Bytes alias data unless they come in chunks.
func (Format) Value(data []byte, s field.Span, as field.Type) (field.Value, error) {
	if s.Head < 0 || s.Head > s.End || s.End > len(data) {
		return field.Value{}, errSpan
	}
	data = data[:s.End]
	h, at, err := pastTags(data, s.Head)
	if err != nil {
		return field.Value{}, err
	}
	end, err := skip(data, at, 1, 0)
	if err != nil {
		return field.Value{}, err
	}
	v := field.Value{Kind: kinds[data[at]]}
	switch v.Kind {
	case field.Int:
		switch {
		case h.major == majorUint:
			v.Int, v.Unsigned = int64(h.arg), h.arg > math.MaxInt64
		case h.arg <= math.MaxInt64:
			v.Int = -1 - int64(h.arg)
		case as == field.Float32 || as == field.Float64:
			v.Kind, v.Float = field.Float, -1-float64(h.arg)
		default:
			return field.Value{}, &format.TypeError{Format: "cbor", Have: v.Kind, Want: as, Reason: "it is below the least int64: read it as a float64"}
		}
	case field.Float:
		v.Float = floatOf(h)
	case field.Bool:
		v.Bool = data[at] == byteTrue
	case field.Text, field.Bytes:
		v.Bytes = stringAt(data, h, end)
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
	if b := data[s.Head]; b>>5 != majorText || b&31 >= 28 {
		return nil, false
	}
	return data[s.Off:s.End:s.End], true
}

// stringAt returns the content of the string h that ends at end: a part of data, or a copy if it comes in chunks.
func stringAt(data []byte, h head, end int) []byte {
	if h.info != indefinite {
		return data[h.next:end:end]
	}
	joined := make([]byte, 0, end-h.next-1)
	for pos := h.next; ; {
		chunk, next, err := readChunk(data, pos, h.major)
		if err != nil || chunk == nil {
			return joined
		}
		joined, pos = append(joined, chunk...), next
	}
}

// floatOf returns the float whose head h is. IEEE 754 binary16, 32 or 64. RFC 8949, section 3.3.
func floatOf(h head) float64 {
	switch h.info {
	case byteFloat16 & 31:
		return float16(uint16(h.arg))
	case byteFloat32 & 31:
		return float64(math.Float32frombits(uint32(h.arg)))
	}
	return math.Float64frombits(h.arg)
}

// float16 decodes a half. RFC 8949, appendix D.
func float16(half uint16) float64 {
	exponent, mantissa := int(half>>10&31), float64(half&0x3ff)
	var f float64
	switch exponent {
	case 0:
		f = math.Ldexp(mantissa, -24)
	case 31:
		if f = math.Inf(1); mantissa != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(mantissa+1024, exponent-25)
	}
	if half&0x8000 != 0 {
		f = -f
	}
	return f
}
