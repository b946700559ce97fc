package transcode

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// writer writes a message in one target format. A reader calls it for each value of the source.
type writer interface {
	open(at location, kind field.Kind) error // starts a Map or List; close ends the last one that is open
	close() error
	scalar(at location, v value) error
	message() ([]byte, error)
}

// Notes lists the kinds of values that the translation changed. Each kind occurs once.
type Notes []string

// maxNotes bounds the length of Notes, because a message may have any number of CBOR tags.
const maxNotes = 16

func (n *Notes) add(text string) {
	if len(*n) >= maxNotes || slices.Contains(*n, text) {
		return
	}
	if len(*n) == maxNotes-1 {
		text = "and more"
	}
	*n = append(*n, text)
}

// value is a scalar on its way from the source to the target.
type value struct {
	field.Value
	number string // decimal digits of a number that is text in the source, or that field.Value would round
	single bool   // the value is a float32
	note   string // note to add if the schema does not declare the value
}

// typed returns v for a format that has a type for each value: one without a type becomes bytes.
func (v *value) typed() *field.Value {
	switch v.Kind {
	case field.Untyped:
		v.Kind = field.Bytes
	case field.Text, field.Bytes:
	default:
		v.Bytes = nil
	}
	return &v.Value
}

// msgpackSingle is the length of an encoded float32 in MessagePack, in bytes.
const msgpackSingle = 5

// copyValue passes the value at s and its content to w. s is a span that Lookup or Walk returned for data.
func copyValue(w *typedWriter, data []byte, f format.Format, s field.Span, notes *Notes) error {
	if s.Kind == field.Map || s.Kind == field.List {
		return copyContainer(w, data, f, s, notes)
	}
	v, err := decodeScalar(f, data, s, notes)
	if err != nil {
		return err
	}
	return w.scalar(field.Step{Index: -1, Key: -1}, v)
}

var errSpan = errors.New("transcode: the span is no map or list of this message: it comes from another one")

// errEnd ends the walk after the copied value. It is never returned to callers.
var errEnd = errors.New("transcode: end")

// level is a value on the path to the current one.
type level struct {
	step  field.Step
	isMap bool
	next  int // in a container, the offset of the next item or key
}

// copyContainer passes the map or list at s and its content to w.
func copyContainer(w *typedWriter, data []byte, f format.Format, s field.Span, notes *Notes) error {
	isCBOR := f.Name() == "cbor" // Walk passes no tags, and not all keys
	var open []level             // containers that are open in w
	base := -1                   // depth of the value at s; -1 until the walk reaches it
	closeTo := func(depth int) error {
		for ; len(open) > depth; open = open[:len(open)-1] {
			if err := w.end(); err != nil {
				return err
			}
		}
		return nil
	}
	err := f.Walk(data, func(step field.Step, depth int, at field.Span) error {
		if base < 0 {
			if at != s {
				return nil
			}
			base = depth
		} else if depth <= base {
			return errEnd
		}
		if err := closeTo(depth - base); err != nil {
			return err
		}
		if isCBOR && depth > base {
			in := &open[depth-base-1]
			if in.isMap {
				var err error
				if step, err = cborStep(data, in.next, step, notes); err != nil {
					return pathError(open, err)
				}
			}
			in.next = at.End
		}
		open = append(open, level{step, at.Kind == field.Map, at.Off})
		if at.Kind == field.Map || at.Kind == field.List {
			if isCBOR {
				if _, _, err := skipCBORTags(data, at.Head, notes); err != nil {
					return pathError(open, err)
				}
			}
			return pathError(open, w.begin(step, at.Kind))
		}
		v, err := decodeScalar(f, data, at, notes)
		if err == nil {
			err = w.scalar(step, v)
		}
		if err != nil {
			return pathError(open, err)
		}
		open = open[:len(open)-1]
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errEnd):
		return err
	case base < 0:
		return errSpan
	}
	return closeTo(0)
}

// decodeScalar decodes a scalar without a schema. A JSON number becomes its digits as text. A value without a type
// becomes its raw bytes.
func decodeScalar(f format.Format, data []byte, at field.Span, notes *Notes) (value, error) {
	switch name := f.Name(); {
	case name == "protobuf": // the Value method would search the schema for the type again
		raw := field.Value{Kind: field.Untyped, Bytes: data[at.Off:at.End]}
		return value{Value: raw, note: "fields that the schema does not know became their bytes"}, nil
	case at.Kind == field.Untyped:
		return value{Value: field.Value{Kind: field.Untyped, Bytes: data[at.Off:at.End]}}, nil
	case name == "json" && (at.Kind == field.Int || at.Kind == field.Float):
		return value{Value: field.Value{Kind: at.Kind}, number: string(data[at.Off:at.End])}, nil
	case name == "bson":
		return bsonValue(f, data, at, notes)
	case name == "cbor":
		return cborValue(f, data, at, notes)
	}
	v, err := f.Value(data, at, field.AnyType)
	return value{Value: v, single: at.Kind == field.Float && at.End-at.Head == msgpackSingle}, err
}

// pathError returns err with the path of the field. The first of open is the copied value itself, which has no name.
func pathError(open []level, err error) error {
	if err == nil || len(open) < 2 {
		return err
	}
	path := make([]string, len(open)-1)
	for i := range path {
		path[i] = open[i+1].step.String()
	}
	return fmt.Errorf("%s: %w", strings.Join(path, "."), err)
}
