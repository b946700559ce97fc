package json

import (
	"bytes"
	"math"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
)

// Patch appends data to dst, with v in place of the value at p, and returns the extended dst. JSON has one kind of
// number, so an integer may replace a float, and a float may replace an integer. A float is written with a fraction or
// an exponent, so that it is still read as a float, or in the decimal form that the Value has. Bytes after the value are copied without a check. On an error dst
// is returned unchanged: field.ErrNotFound, *format.TypeError if v cannot be converted to the old value's kind, or an
// error of Lookup.
func (f Format) Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error) {
	s, err := f.preparePatch(data, p, &v)
	if err != nil {
		return dst, err
	}
	dst = append(dst, data[:s.Head]...)
	dst = appendValue(dst, v)
	return append(dst, data[endOf(s):]...), nil
}

// PatchInPlace overwrites the value at p in data itself if the value that Patch would write has exactly as many bytes.
// Otherwise it returns false and leaves data unchanged. The time does not depend on the bytes after the value.
func (f Format) PatchInPlace(data []byte, p field.Path, v field.Value) (bool, error) {
	s, err := f.preparePatch(data, p, &v)
	if err != nil {
		return false, err
	}
	end := endOf(s)
	if v.Kind == field.Text {
		if encodedTextSize(v.Bytes) != end-s.Head {
			return false, nil
		}
		AppendText(data[s.Head:s.Head:end], v.Bytes)
		return true, nil
	}
	var short [32]byte
	text := appendValue(short[:0], v)
	if len(text) != end-s.Head {
		return false, nil
	}
	copy(data[s.Head:], text)
	return true, nil
}

// preparePatch returns the span of the value at p. It converts v to the kind of this value.
func (f Format) preparePatch(data []byte, p field.Path, v *field.Value) (field.Span, error) {
	s, err := f.Lookup(data, p)
	if err != nil {
		return s, err
	}
	have := s.Kind
	if isNumeric(have) && isNumeric(v.Kind) {
		have = v.Kind
	}
	if !isFinite(*v) || have == field.Null && v.Kind == field.Bytes {
		return s, noFormError(s.Kind)
	}
	text := v.Bytes
	err = convert.Replace("json", v, have)
	keepDecimal(v, text)
	return s, err
}

// keepDecimal gives a Float its decimal form back, if text is one that rounds to the Float.
func keepDecimal(v *field.Value, text []byte) {
	if v.Kind != field.Float || len(text) == 0 || len(text) > maxNumberLength {
		return
	}
	if end, err := validateNumber(text, 0); err != nil || end < len(text) {
		return
	}
	if f, err := strconv.ParseFloat(string(text), 64); err == nil && f == v.Float {
		v.Bytes = text
	}
}

// isFinite reports whether v is anything but a NaN or an infinity, which JSON cannot express.
func isFinite(v field.Value) bool {
	return v.Kind != field.Float || !math.IsNaN(v.Float) && !math.IsInf(v.Float, 0)
}

func noFormError(have field.Kind) error {
	return &format.TypeError{Format: "json", Have: have, Want: field.AnyType, Reason: "JSON has no form for NaN, infinities and byte strings"}
}

func isNumeric(k field.Kind) bool { return k == field.Int || k == field.Float }

func appendValue(dst []byte, v field.Value) []byte {
	switch v.Kind {
	case field.Text:
		return AppendText(dst, v.Bytes)
	case field.Bool:
		return strconv.AppendBool(dst, v.Bool)
	case field.Int:
		if v.Unsigned {
			return strconv.AppendUint(dst, uint64(v.Int), 10)
		}
		return strconv.AppendInt(dst, v.Int, 10)
	case field.Float:
		if len(v.Bytes) > 0 {
			return append(dst, v.Bytes...)
		}
		start := len(dst)
		dst = strconv.AppendFloat(dst, v.Float, 'g', -1, 64)
		if !bytes.ContainsAny(dst[start:], ".e") && string(dst[start:]) != "-0" {
			dst = append(dst, '.', '0')
		}
		return dst
	}
	return append(dst, "null"...)
}
