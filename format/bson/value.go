package bson

import (
	"encoding/binary"
	"errors"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
)

var errForeignSpan = errors.New("bson: the span does not lie in the data: it comes from another message")

// Value decodes the scalar at s. A datetime is an integer: milliseconds since 1970, UTC. Text and Bytes are views into
// data. An extension can be read only as field.ByteString. The result is its encoded content, for example the 12 bytes
// of an ObjectID.
func (Format) Value(data []byte, s field.Span, as field.Type) (field.Value, error) {
	if s.Head < 0 || s.Off < s.Head || s.End < s.Off || s.End > len(data) || s.Head == len(data) {
		return field.Value{}, errForeignSpan
	}
	typ := valuePlace{head: s.Head}.typ(data)
	content := data[s.Off:s.End:s.End]
	if n := sizeByType[typ]; n != variableSize && int(n) != len(content) {
		return field.Value{}, errForeignSpan
	}
	v := field.Value{Kind: kindByType[typ]}
	switch v.Kind {
	case field.Int:
		if typ == typeInt32 {
			v.Int = int64(int32(binary.LittleEndian.Uint32(content)))
		} else {
			v.Int = int64(binary.LittleEndian.Uint64(content))
		}
	case field.Float:
		v.Float = math.Float64frombits(binary.LittleEndian.Uint64(content))
	case field.Bool:
		v.Bool = content[0] != 0
	case field.Text, field.Bytes:
		v.Bytes = content
	case field.Null:
	case field.Extension:
		if as != field.ByteString {
			return field.Value{}, &format.TypeError{Format: "bson", Have: v.Kind, Want: as, Reason: "only its bytes can be read: ask for bytes"}
		}
		v = field.Value{Kind: field.Bytes, Bytes: content}
	default:
		return field.Value{}, &format.TypeError{Format: "bson", Have: v.Kind, Want: as, Reason: "it is no scalar: name one inside it"}
	}
	return convert.Read("bson", v, as)
}

// View returns the content of a text. It allocates nothing.
func (Format) View(data []byte, s field.Span) ([]byte, bool) {
	if uint(s.End) > uint(len(data)) || uint(s.Off) > uint(s.End) || uint(s.Head) >= uint(s.Off) {
		return nil, false
	}
	if s.Head == 0 || kindByType[data[s.Head]] != field.Text {
		return nil, false
	}
	return data[s.Off:s.End:s.End], true
}
