package msgpack

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
)

var (
	errSpan    = errors.New("msgpack: the span does not lie in the data: it comes from another message")
	errTooLong = errors.New("msgpack: a text or byte string of more than 4294967295 bytes has no form: send it in parts")
)

// Value decodes the scalar at s. A float of four or eight bytes is a Float. Text and Bytes are views into data. An
// extension, such as a timestamp, is not a scalar and gives *format.TypeError.
func (Format) Value(data []byte, s field.Span, as field.Type) (field.Value, error) {
	if s.Head < 0 || s.Head > s.End || s.End > len(data) {
		return field.Value{}, errSpan
	}
	data = data[:s.End]
	h, err := readHead(data, s.Head)
	if err != nil {
		return field.Value{}, err
	}
	v := field.Value{Kind: h.kind}
	if h.kind == field.List || h.kind == field.Map || h.kind == field.Extension {
		reason := "it is no scalar: name one inside it"
		if h.kind == field.Extension {
			reason = "only its own application knows what an extension means"
		}
		return field.Value{}, &format.TypeError{Format: "msgpack", Have: h.kind, Want: as, Reason: reason}
	}
	if h.n > uint64(len(data)-h.off) {
		return field.Value{}, io.ErrUnexpectedEOF
	}
	content := data[h.off : h.off+int(h.n) : h.off+int(h.n)]
	switch h.kind {
	case field.Int:
		n := integerAt(data, s.Head)
		v.Int, v.Unsigned = n.n, n.unsigned
	case field.Float:
		v.Float = floatOf(content)
	case field.Bool:
		v.Bool = content[0] == byteTrue
	case field.Text, field.Bytes:
		v.Bytes = content
	}
	return convert.Read("msgpack", v, as)
}

// floatOf decodes a float item. item starts with the first byte, which tells the width. IEEE 754 binary32 or binary64.
func floatOf(item []byte) float64 {
	if item[0] == byteFloat32 {
		return float64(math.Float32frombits(binary.BigEndian.Uint32(item[1:])))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(item[1:]))
}

// View returns the content of the text at s. If s is not a text, View returns false. It allocates nothing.
func (Format) View(data []byte, s field.Span) ([]byte, bool) {
	if uint(s.End) > uint(len(data)) || uint(s.Off) > uint(s.End) || uint(s.Head) >= uint(s.Off) {
		return nil, false
	}
	if headFamilies[data[s.Head]].kind != field.Text {
		return nil, false
	}
	return data[s.Off:s.End:s.End], true
}
