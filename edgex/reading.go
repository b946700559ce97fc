package edgex

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The value types of readings. Each type up to String also has an array type, whose name ends in Array.
const (
	Bool    = "Bool"
	Int8    = "Int8"
	Int16   = "Int16"
	Int32   = "Int32"
	Int64   = "Int64"
	Uint8   = "Uint8"
	Uint16  = "Uint16"
	Uint32  = "Uint32"
	Uint64  = "Uint64"
	Float32 = "Float32"
	Float64 = "Float64"
	String  = "String"

	Binary      = "Binary"
	Object      = "Object"
	ObjectArray = "ObjectArray"
)

// Reading is one value of one resource; EdgeX calls it BaseReading. The value is in BinaryValue if ValueType is Binary, in
// ObjectValue if it is Object or ObjectArray, and otherwise in Value.
type Reading struct {
	ID           string
	Origin       int64 // Unix time in nanoseconds
	DeviceName   string
	ResourceName string
	ProfileName  string
	ValueType    string
	Units        string
	Tags         map[string]any

	Value        string // numbers are text, too
	NumericValue any    // replaces Value in core-data's responses to queries for numbers
	BinaryValue  []byte
	MediaType    string // of BinaryValue
	ObjectValue  any
	Null         bool // the reading has no value
}

// BaseReading is EdgeX's name for a Reading.
type BaseReading = Reading

// kinds are the Go kinds of the simple value types.
var kinds = map[string]reflect.Kind{
	Bool: reflect.Bool, String: reflect.String,
	Int8: reflect.Int8, Int16: reflect.Int16, Int32: reflect.Int32, Int64: reflect.Int64,
	Uint8: reflect.Uint8, Uint16: reflect.Uint16, Uint32: reflect.Uint32, Uint64: reflect.Uint64,
	Float32: reflect.Float32, Float64: reflect.Float64,
}

// FormatValue returns value as the text of a reading's Value, as EdgeX writes it: integers in decimal, floats as in 1.5e+00,
// arrays as in [1, -2, 3]. The kind of value must be the one that valueType names: an int32 or a type defined on it for Int32, a
// slice of these for Int32Array.
//
// A StringArray is JSON, as from EdgeX 4.1 on: ["a","b c"]. EdgeX up to 4.0.3 writes texts without quotes, as in [a, b, c], so
// a reader cannot distinguish two texts from three.
func FormatValue(valueType string, value any) (string, error) {
	element, array := strings.CutSuffix(valueType, "Array")
	kind, simple := kinds[element]
	if !simple {
		return "", fmt.Errorf("edgex: value type %q holds no simple value: want Bool, String, Int8 to Uint64, Float32, Float64, or one of them followed by Array", valueType)
	}
	v := reflect.ValueOf(value)
	have := v.Kind()
	if array && have == reflect.Slice {
		have = v.Type().Elem().Kind()
	} else if array {
		have = reflect.Invalid
	}
	if have != kind {
		return "", fmt.Errorf("edgex: value of type %T for value type %s: convert it first", value, valueType)
	}
	if !array {
		return string(appendSimple(nil, v)), nil
	}
	if kind == reflect.String {
		return formatTexts(v)
	}
	text := []byte{'['}
	for i := range v.Len() {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = appendSimple(text, v.Index(i))
	}
	return string(append(text, ']')), nil
}

// formatTexts writes a slice of texts as JSON.
func formatTexts(v reflect.Value) (string, error) {
	texts := make([]string, v.Len())
	for i := range texts {
		if texts[i] = v.Index(i).String(); !utf8.ValidString(texts[i]) {
			return "", fmt.Errorf("edgex: text %q at index %d of a StringArray is not UTF-8: send it as Binary", texts[i], i)
		}
	}
	text, err := json.Marshal(texts)
	return string(text), err
}

func appendSimple(dst []byte, v reflect.Value) []byte {
	switch {
	case v.Kind() == reflect.Bool:
		return strconv.AppendBool(dst, v.Bool())
	case v.Kind() == reflect.String:
		return append(dst, v.String()...)
	case v.CanInt():
		return strconv.AppendInt(dst, v.Int(), 10)
	case v.CanUint():
		return strconv.AppendUint(dst, v.Uint(), 10)
	default:
		return strconv.AppendFloat(dst, v.Float(), 'e', -1, v.Type().Bits())
	}
}
