package transcode

import (
	"errors"
	"slices"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// writer writes one target format. copyValue calls it for each value of the source.
type writer interface {
	open(at location, kind field.Kind) error // starts a Map or List, which the matching close ends
	close() error
	scalar(at location, v value) error
	message() ([]byte, error)
}

// Notes lists the kinds of values that were changed in translation, each kind once.
type Notes []string

// maxNotes bounds Notes, as a message may have any number of CBOR tags.
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

// value is a scalar.
type value struct {
	field.Value
	number string // decimal digits of a number that field.Value would round, or that is text in the source
	single bool   // a float32
	note   string // the note to add if the schema does not declare the value
}

// copyValue passes the value at s, a span that Lookup or Walk returned for data, with its content to w.
func copyValue(w *typedWriter, data []byte, f format.Format, s field.Span, notes *Notes) error {
	if f.Name() == "cbor" {
		r := cborReader{data: data[:s.End], pos: s.Head, w: w, notes: notes}
		return r.item(field.Step{Index: -1, Key: -1}, 0)
	}
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

// errEnd stops the walk behind the copied value.
var errEnd = errors.New("transcode: end")

// copyContainer passes the map or list at s to w.
func copyContainer(w *typedWriter, data []byte, f format.Format, s field.Span, notes *Notes) error {
	var open []field.Step // the open containers of w
	base := -1            // the depth of the value itself; -1 before the walk has reached it
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
		open = append(open, step)
		if at.Kind == field.Map || at.Kind == field.List {
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

// decodeScalar decodes a scalar without a schema: the digits of a number as text, or the raw bytes of a value without a type.
func decodeScalar(f format.Format, data []byte, at field.Span, notes *Notes) (value, error) {
	switch name := f.Name(); {
	case name == "protobuf": // its Value would look up the type in the schema again
		raw := field.Value{Kind: field.Untyped, Bytes: data[at.Off:at.End]}
		return value{Value: raw, note: "fields that the schema does not know became their bytes"}, nil
	case at.Kind == field.Untyped:
		return value{Value: field.Value{Kind: field.Untyped, Bytes: data[at.Off:at.End]}}, nil
	case name == "json" && (at.Kind == field.Int || at.Kind == field.Float):
		return value{Value: field.Value{Kind: at.Kind}, number: string(data[at.Off:at.End])}, nil
	case name == "bson":
		return bsonValue(f, data, at, notes)
	}
	v, err := f.Value(data, at, field.AnyType)
	return value{Value: v, single: at.Kind == field.Float && at.End-at.Head == msgpackSingle}, err
}

// pathError returns err with the path of its field. The first step is the value itself and has no name.
func pathError(steps []field.Step, err error) error {
	for i := len(steps) - 1; i > 0 && err != nil; i-- {
		err = prependStep(steps[i], err)
	}
	return err
}

// fieldError is an error about the value at a path.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// prependStep returns err with step before its path.
func prependStep(step field.Step, err error) error {
	var inner *fieldError
	if errors.As(err, &inner) {
		return &fieldError{step.String() + "." + inner.path, inner.err}
	}
	return &fieldError{step.String(), err}
}
