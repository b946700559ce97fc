package edgex

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The value types of readings. Each type up to String also has an array type. The name of the array type ends in Array.
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

// Reading is one value of one resource; EdgeX calls it BaseReading. The value is in BinaryValue if ValueType is Binary. It is
// in ObjectValue if ValueType is Object or ObjectArray. Otherwise it is in Value.
type Reading struct {
	ID           string
	Origin       int64 // Unix time in nanoseconds
	DeviceName   string
	ResourceName string
	ProfileName  string
	ValueType    string
	Units        string
	Tags         map[string]any

	Value        string // numbers are also written as text
	NumericValue any    // replaces Value when core-data responds to queries for numbers
	BinaryValue  []byte
	MediaType    string // media type of BinaryValue
	ObjectValue  any
	Null         bool // true if the reading has no value
}

// BaseReading is EdgeX's name for a Reading.
type BaseReading = Reading

// simpleKinds are the Go kinds that correspond to the simple value types.
var simpleKinds = map[string]reflect.Kind{
	Bool: reflect.Bool, String: reflect.String,
	Int8: reflect.Int8, Int16: reflect.Int16, Int32: reflect.Int32, Int64: reflect.Int64,
	Uint8: reflect.Uint8, Uint16: reflect.Uint16, Uint32: reflect.Uint32, Uint64: reflect.Uint64,
	Float32: reflect.Float32, Float64: reflect.Float64,
}

// FormatValue returns value as the text of a reading's Value, as EdgeX writes it. Integers are decimal, floats are written as
// in 1.5e+00, arrays as in [1, -2, 3]. value must have the Go kind that valueType names. Int32 needs an int32 or a type
// defined on int32. Int32Array needs a slice of these.
//
// A StringArray is JSON, as EdgeX 4.1 and later write it: ["a","b c"]. EdgeX up to 4.0.3 writes texts without quotes, as in
// [a, b, c]. A reader of that form cannot distinguish two texts from three.
func FormatValue(valueType string, value any) (string, error) {
	element, array := strings.CutSuffix(valueType, "Array")
	kind, simple := simpleKinds[element]
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
