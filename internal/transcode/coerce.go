package transcode

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// Texts for floats that JSON cannot write as numbers. Protocol Buffers, ProtoJSON format, "Representation of each
// type".
const (
	nan      = "NaN"
	infinity = "Infinity"
)

// quietNaN is the value that every NaN in text becomes, because text cannot carry the payload of a NaN. IEEE 754,
// section 6.2.1.
const quietNaN = 0x7ff8000000000000

// coerce converts v from the kind of its encoding to the schema's type t. Only digits that a float cannot hold are
// lost; then there is a note. In JSON, bytes are base64 text. NaN and infinities are also text.
func coerce(v value, t schema.Type, isJSON bool, notes *Notes) (value, error) {
	isNumber := v.Kind == field.Int || v.Kind == field.Float
	switch as := t.Field(); {
	case as == field.String && v.Kind == field.Text, as == field.Boolean && v.Kind == field.Bool, as == field.ByteString && v.Kind == field.Bytes:
		return v, nil
	case as == field.ByteString && v.Kind == field.Text && isJSON:
		raw, err := base64.StdEncoding.Strict().DecodeString(string(v.Bytes))
		if err != nil {
			return v, fmt.Errorf("transcode: %.40q is not base64, which json uses for bytes", v.Bytes)
		}
		return value{Value: field.Value{Kind: field.Bytes, Bytes: raw}}, nil
	case as == field.Float32 && isNumber:
		return toFloat(v, 32, notes)
	case as == field.Float64 && isNumber:
		return toFloat(v, 64, notes)
	case (as == field.Float32 || as == field.Float64) && v.Kind == field.Text && isJSON:
		return parseSpecialFloat(string(v.Bytes), as)
	case isNumber && isInteger(as):
		return toInteger(v, as)
	}
	return v, fmt.Errorf("transcode: %v where the schema has %v", v.Kind, t)
}

func isInteger(as field.Type) bool { return field.Int32 <= as && as <= field.Uint64 }

// decimalText returns v as decimal text. An integer has all of its digits. A float has the shortest digits that restore it.
func (v *value) decimalText() string {
	switch {
	case v.number != "":
		return v.number
	case v.Kind == field.Float:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case v.Unsigned:
		return strconv.FormatUint(uint64(v.Int), 10)
	}
	return strconv.FormatInt(v.Int, 10)
}

// isIntegerText reports whether a JSON number is an integer. -0 is a float, because integers have no negative zero.
func isIntegerText(text string) bool { return !strings.ContainsAny(text, ".eE") && text != "-0" }

// toFloat converts a number of any kind to a float. bits is 32 or 64.
func toFloat(v value, bits int, notes *Notes) (value, error) {
	out := value{Value: field.Value{Kind: field.Float}, single: bits == 32}
	if v.Kind != field.Float || v.number != "" {
		var err error
		out.Float, err = parseFloat(v.decimalText(), bits, notes)
		return out, err
	}
	out.Float = v.Float
	if bits == 32 {
		out.Float = float64(float32(v.Float))
	}
	switch {
	case math.IsInf(out.Float, 0) && !math.IsInf(v.Float, 0):
		return out, fmt.Errorf("transcode: %s exceeds the range of a float%d", v.decimalText(), bits)
	case out.Float != v.Float && v.Float == v.Float: // not for a NaN, which differs from itself
		notes.add(roundedTo(bits))
	}
	return out, nil
}

// parseFloat parses decimal text. If the float cannot hold all digits, it adds a note.
func parseFloat(text string, bits int, notes *Notes) (float64, error) {
	f, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return 0, fmt.Errorf("transcode: %.40s exceeds the range of a float%d", text, bits)
	}
	if significantDigits(text) != significantDigits(strconv.FormatFloat(f, 'e', -1, bits)) {
		notes.add(roundedTo(bits))
	}
	return f, nil
}

func roundedTo(bits int) string {
	return "numbers with more digits than a float" + strconv.Itoa(bits) + " holds were rounded to it"
}

// significantDigits returns the digits of a decimal number, without sign, point and exponent, and without zeros at both ends.
func significantDigits(text string) string {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		text = text[:i]
	}
	return strings.Trim(strings.NewReplacer("-", "", ".", "").Replace(text), "0")
}

func parseSpecialFloat(text string, as field.Type) (value, error) {
	v := value{Value: field.Value{Kind: field.Float}, single: as == field.Float32}
	switch text {
	case nan:
		v.Float = math.Float64frombits(quietNaN)
	case infinity:
		v.Float = math.Inf(1)
	case "-" + infinity:
		v.Float = math.Inf(-1)
	default:
		return v, fmt.Errorf("transcode: %.40q where the schema has %v", text, as)
	}
	return v, nil
}

// specialFloatName returns the text that parseSpecialFloat parses to f.
func specialFloatName(f float64) string {
	switch {
	case f > 0:
		return infinity
	case f < 0:
		return "-" + infinity
	}
	return nan
}

// toInteger converts a number of any kind to an integer in the range of the type. Texts such as 5.0 and 1e3 are integers,
// too.
func toInteger(v value, as field.Type) (value, error) {
	text, bits := v.decimalText(), 64
	if as == field.Int32 || as == field.Uint32 {
		bits = 32
	}
	if strings.ContainsAny(text, ".eEnN") {
		f, err := strconv.ParseFloat(text, 64)
		exact := significantDigits(text) == significantDigits(strconv.FormatFloat(f, 'e', -1, 64))
		if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 || !exact {
			return v, fmt.Errorf("transcode: %.40s where the schema has %v", text, as)
		}
		text = strconv.FormatInt(int64(f), 10)
	}
	out := value{Value: field.Value{Kind: field.Int}}
	var err error
	if as == field.Uint32 || as == field.Uint64 {
		var n uint64
		n, err = strconv.ParseUint(text, 10, bits)
		out.Int, out.Unsigned = int64(n), n > math.MaxInt64
	} else {
		out.Int, err = strconv.ParseInt(text, 10, bits)
	}
	if err != nil {
		return v, fmt.Errorf("transcode: %.40s exceeds the range of %v", text, as)
	}
	return out, nil
}

// to64Bit returns v as a 64-bit integer or a float64, for formats without larger numbers. v.number holds the digits.
func (v *value) to64Bit(notes *Notes) (value, error) {
	if !isIntegerText(v.number) {
		return toFloat(*v, 64, notes)
	}
	as := field.Uint64
	if v.number[0] == '-' {
		as = field.Int64
	}
	return toInteger(*v, as)
}
