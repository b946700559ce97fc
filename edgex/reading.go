package edgex

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The value types of readings. Those up to String have an array type as well, named with Array behind.
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

// Reading is one value of one resource; EdgeX calls it BaseReading. ValueType says where the value is: in BinaryValue for
// Binary, in ObjectValue for Object and ObjectArray, else in Value.
type Reading struct {
	ID           string
	Origin       int64 // Unix time in nanoseconds
	DeviceName   string
	ResourceName string
	ProfileName  string
	ValueType    string
	Units        string
	Tags         map[string]any

	Value        string // as text, also if it is a number
	NumericValue any    // in place of Value, where core-data answers a query with a number
	BinaryValue  []byte
	MediaType    string // of BinaryValue
	ObjectValue  any
	Null         bool // there is no value
}

// BaseReading is EdgeX's name for a Reading.
type BaseReading = Reading

// kinds are the Go kinds that carry the simple value types.
var kinds = map[string]reflect.Kind{
	Bool: reflect.Bool, String: reflect.String,
	Int8: reflect.Int8, Int16: reflect.Int16, Int32: reflect.Int32, Int64: reflect.Int64,
	Uint8: reflect.Uint8, Uint16: reflect.Uint16, Uint32: reflect.Uint32, Uint64: reflect.Uint64,
	Float32: reflect.Float32, Float64: reflect.Float64,
}

// FormatValue writes value as EdgeX does in a reading's Value: integers in decimal, floats like 1.5e+00, arrays like
// [1, -2, 3]. Its Go type must be the one valueType names: an int32 or a named type of it for Int32, a slice of them for
// Int32Array.
//
// A StringArray is written as EdgeX writes it from 4.1 on, as JSON: ["a", "b c"] as ["a","b c"]. Up to 4.0.3 EdgeX writes
// [a, b, c] for it, of which nobody can tell whether it was two texts or three.
func FormatValue(valueType string, value any) (string, error) {
	element, array := strings.CutSuffix(valueType, "Array")
	kind, simple := kinds[element]
	if !simple {
		return "", fmt.Errorf("edgex: value type %q holds no simple value: want Bool, String, Int8 to Uint64, Float32, Float64, or one of them with Array behind", valueType)
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
