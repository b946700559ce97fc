package json

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
)

var errForeignSpan = errors.New("json: the span does not lie in the data: it comes from another message")

// maxNumberLength is the maximum length of a number that Value converts, in bytes. No float64 needs more digits. The
// time to convert a number grows faster than its length.
const maxNumberLength = 1100

// Value decodes the scalar at s. A number without fraction and exponent is an Int if it fits an int64 or uint64. Any
// other number is a Float, with its digits if a float64 would round it. A text is a view into data unless it has escapes.
func (Format) Value(data []byte, s field.Span, as field.Type) (field.Value, error) {
	if s.Head < 0 || s.Head > s.Off || s.Off > s.End || s.End > len(data) {
		return field.Value{}, errForeignSpan
	}
	raw := data[s.Off:s.End:s.End]
	v := field.Value{Kind: s.Kind}
	switch s.Kind {
	case field.Text:
		if v.Bytes = raw; bytes.IndexByte(raw, '\\') >= 0 {
			v.Bytes = unescape(make([]byte, 0, len(raw)), raw)
		}
	case field.Bool:
		v.Bool = string(raw) == "true"
	case field.Int, field.Float:
		var err error
		if v, err = decodeNumber(raw, s); err != nil {
			return field.Value{}, err
		}
	case field.Null:
	default:
		return field.Value{}, &format.TypeError{Format: "json", Have: s.Kind, Want: as, Reason: "it is no scalar: name one inside it"}
	}
	return convert.Read("json", v, as)
}

// View returns the content of a text without escapes. It allocates nothing.
func (Format) View(data []byte, s field.Span) ([]byte, bool) {
	if s.Kind != field.Text || s.Off < 0 || s.Off > s.End || s.End > len(data) || bytes.IndexByte(data[s.Off:s.End], '\\') >= 0 {
		return nil, false
	}
	return data[s.Off:s.End:s.End], true
}

func decodeNumber(raw []byte, s field.Span) (field.Value, error) {
	if end, err := validateNumber(raw, 0); err != nil || end < len(raw) {
		return field.Value{}, syntaxError(s.Off, "malformed number")
	}
	if len(raw) > maxNumberLength {
		return field.Value{}, &format.TypeError{Format: "json", Have: s.Kind, Want: field.Float64, Reason: "its text has " + strconv.Itoa(len(raw)) + " bytes: at most " + strconv.Itoa(maxNumberLength)}
	}
	if s.Kind == field.Int {
		if v, ok := parseInteger(raw); ok {
			return v, nil
		}
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return field.Value{}, &format.TypeError{Format: "json", Have: s.Kind, Want: field.Float64, Reason: "it is outside of the range of a float64"}
	}
	return field.DecimalValue(f, raw), nil
}

// parseInteger parses digits with an optional minus sign. ok is false if the number fits neither int64 nor uint64.
func parseInteger(raw []byte) (v field.Value, ok bool) {
	digits := raw
	if raw[0] == '-' {
		digits = raw[1:]
	}
	var n uint64
	for _, c := range digits {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return field.Value{}, false
		}
		n = n*10 + d
	}
	switch {
	case len(digits) == len(raw):
		return field.Value{Kind: field.Int, Int: int64(n), Unsigned: n > math.MaxInt64}, true
	case n <= 1<<63:
		return field.Value{Kind: field.Int, Int: -int64(n)}, true
	}
	return field.Value{}, false
}
