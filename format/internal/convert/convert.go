package convert

import (
	"fmt"
	"math"
	"unicode/utf8"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/utf8check"
)

// Read converts v to the type want. If the type cannot hold the value exactly, the error is a *format.TypeError. name
// is the name of the format and appears in the error. Only a conversion to Float32 or Float64 rounds.
func Read(name string, v field.Value, want field.Type) (field.Value, error) {
	ok := true
	switch want {
	case field.AnyType:
	case field.Int32, field.Uint32, field.Int64, field.Uint64:
		v, ok = v.WholeNumber()
		ok = ok && inRange(v, want)
	case field.Float32:
		v, ok = toFloat(v)
		v.Float = float64(float32(v.Float))
	case field.Float64:
		v, ok = toFloat(v)
	case field.String:
		v, ok = toText(v)
	case field.Boolean:
		ok = v.Kind == field.Bool
	case field.ByteString:
		if ok = v.Kind == field.Text || v.Kind == field.Bytes; ok {
			v = field.Value{Kind: field.Bytes, Bytes: v.Bytes}
		}
	default:
		ok = false
	}
	if !ok {
		return field.Value{}, &format.TypeError{Format: name, Have: v.Kind, Want: want, Reason: mismatchReason(v, want)}
	}
	return v, nil
}

// mismatchReason explains why v cannot be converted to the type want.
func mismatchReason(v field.Value, want field.Type) string {
	switch {
	case v.Kind == field.Int && want <= field.Float64:
		return "it is out of range"
	case v.Kind == field.Float && want <= field.Float64:
		return "it has a fraction, or is out of range"
	case want <= field.Float64:
		return "it is no number"
	case want == field.String && v.Kind == field.Bytes:
		return "it is not UTF-8"
	}
	return "it is of another kind"
}

// Replace converts v to the kind have, which is the kind of the old value. A null may be replaced by any scalar. If the
// conversion is impossible, v is unchanged and the error is a *format.TypeError.
func Replace(name string, v *field.Value, have field.Kind) error {
	if convertKind(v, have) {
		if v.Kind != field.Text && v.Kind != field.Bytes {
			v.Bytes = nil
		}
		return nil
	}
	return &format.TypeError{
		Format: name, Have: have, Want: typeOfKind[v.Kind&15],
		Reason: "a value keeps the kind of the one it replaces: give a scalar of that kind",
	}
}

func convertKind(v *field.Value, have field.Kind) bool {
	switch {
	case v.Kind == field.Text && (have == field.Text || have == field.Null):
		return utf8check.Bad(v.Bytes) < 0
	case v.Kind == have || have == field.Null:
		return isScalar(v.Kind)
	case have == field.Int:
		out, ok := v.WholeNumber()
		*v = out
		return ok
	case have == field.Float && v.Kind == field.Int && (v.Unsigned || int64(float64(v.Int)) != v.Int):
		return false // a float64 would round the integer
	case have == field.Float:
		out, ok := toFloat(*v)
		*v = out
		return ok
	case have == field.Text:
		out, ok := toText(*v)
		*v = out
		return ok
	case have == field.Bytes && v.Kind == field.Text:
		v.Kind = field.Bytes
		return true
	}
	return false
}

// Insert checks a value that is inserted into depth nested containers. A text that is not UTF-8 gives a
// *format.TypeError, and so does a value that is neither a scalar nor a container. A List or Map with an invalid
// encoding gives the error of f.
func Insert(f format.Format, v *field.Value, depth int) error {
	reason := "a scalar can be inserted, and a list or map by its encoding"
	switch {
	case v.Kind == field.List || v.Kind == field.Map:
		return checkContainer(f, v, depth)
	case v.Kind == field.Text && !utf8.Valid(v.Bytes):
		reason = "the text is not UTF-8: insert it as bytes"
	case isScalar(v.Kind):
		if v.Kind != field.Text && v.Kind != field.Bytes {
			v.Bytes = nil
		}
		return nil
	}
	return &format.TypeError{Format: f.Name(), Have: v.Kind, Want: typeOfKind[v.Kind&15], Reason: reason}
}

func checkContainer(f format.Format, v *field.Value, depth int) error {
	most := format.Options{}.Depth() - depth
	if most < 1 {
		return &format.TypeError{Format: f.Name(), Have: v.Kind, Reason: "the message would nest too deep"}
	}
	if err := f.Validate(v.Bytes, format.Options{MaxDepth: most}); err != nil {
		return fmt.Errorf("%s: the %v to be inserted: %w", f.Name(), v.Kind, err)
	}
	s, err := f.Lookup(v.Bytes, field.Path{})
	if err != nil {
		return err
	}
	if s.Kind != v.Kind {
		return &format.TypeError{Format: f.Name(), Have: s.Kind, Reason: "its encoding is that of no " + v.Kind.String()}
	}
	return nil
}

// Name returns a *format.TypeError for a new key that is not UTF-8, because some consumers cannot read such a key.
func Name(name, key string) error {
	if utf8.ValidString(key) {
		return nil
	}
	return &format.TypeError{Format: name, Have: field.Text, Want: field.String, Reason: fmt.Sprintf("the key %q is not UTF-8", key)}
}

var typeOfKind = [16]field.Type{
	field.Bool: field.Boolean, field.Int: field.Int64, field.Float: field.Float64,
	field.Text: field.String, field.Bytes: field.ByteString, field.Untyped: field.ByteString,
}

func isScalar(k field.Kind) bool {
	switch k {
	case field.Null, field.Bool, field.Int, field.Float, field.Text, field.Bytes:
		return true
	}
	return false
}

func toFloat(v field.Value) (field.Value, bool) {
	switch {
	case v.Kind == field.Int && v.Unsigned:
		return field.Value{Kind: field.Float, Float: float64(uint64(v.Int))}, true
	case v.Kind == field.Int:
		return field.Value{Kind: field.Float, Float: float64(v.Int)}, true
	}
	if v.Kind == field.Float {
		v.Bytes = nil // the caller asks for the rounded number
	}
	return v, v.Kind == field.Float
}

func toText(v field.Value) (field.Value, bool) {
	switch v.Kind {
	case field.Text:
		return v, true
	case field.Bytes:
		if utf8.Valid(v.Bytes) {
			return field.Value{Kind: field.Text, Bytes: v.Bytes}, true
		}
	}
	return v, false
}

func inRange(v field.Value, want field.Type) bool {
	switch {
	case want == field.Uint64:
		return v.Unsigned || v.Int >= 0
	case v.Unsigned:
		return false
	case want == field.Int32:
		return v.Int >= math.MinInt32 && v.Int <= math.MaxInt32
	case want == field.Uint32:
		return v.Int >= 0 && v.Int <= math.MaxUint32
	}
	return true
}
