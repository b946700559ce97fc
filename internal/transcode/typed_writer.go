package transcode

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/schema"
)

// location tells where a value is: its step in the parent, and what the schema declares for the parent and for the
// value. Without a declaration, the pointer is nil.
type location struct {
	field.Step
	parent, declared *schema.Field
}

// name returns the key of a value in a map as text. The key is the value's name in the schema. Without one it is the
// key of the source. A Y3 key becomes hex text, and an integer decimal text.
func (at location) name(notes *Notes) string {
	switch {
	case at.declared != nil:
		return at.declared.Name
	case at.Name != "":
		return at.Name
	case at.Key < 0 && at.Index >= 0:
		notes.add("integer keys became text")
	}
	return at.String()
}

// typedWriter passes values from a reader to a writer. It finds the declaration of each value in the schema, and
// converts the value to the declared type.
type typedWriter struct {
	to       writer
	root     *schema.Field
	open     []*schema.Field // declarations of the open containers, outermost first; nil for a container that the schema does not have
	from     format.Format
	numbered bool // the source format identifies fields by numbers
	notes    *Notes
}

func newTypedWriter(to writer, root *schema.Field, from format.Format, notes *Notes) *typedWriter {
	return &typedWriter{to: to, root: root, from: from, numbered: from.Descriptor().Numbered, notes: notes}
}

func (s *typedWriter) location(step field.Step) location {
	at := location{Step: step}
	if len(s.open) == 0 {
		at.declared = s.root
		return at
	}
	parent := s.open[len(s.open)-1]
	if at.parent = parent; parent == nil {
		return at
	}
	if !s.numbered && !parent.Repeated {
		step.Index, step.Key = -1, -1 // the source has an integer as a map key, which is no field number
	}
	if child, ok := parent.Child(step); ok {
		at.declared = &child
	}
	return at
}

// begin opens a Map or List. The matching call of end closes it.
func (s *typedWriter) begin(step field.Step, kind field.Kind) error {
	at := s.location(step)
	if at.declared != nil && (kind == field.List) != at.declared.Repeated || at.declared != nil && kind == field.Map && at.declared.Type != schema.Nested {
		return fmt.Errorf("transcode: a %v where the schema has %v", kind, at.declared)
	}
	s.open = append(s.open, at.declared)
	return s.to.open(at, kind)
}

func (s *typedWriter) end() error {
	s.open = s.open[:len(s.open)-1]
	return s.to.close()
}

func (s *typedWriter) scalar(step field.Step, v value) error {
	at := s.location(step)
	if at.declared == nil {
		if v.note != "" {
			s.notes.add(v.note)
		}
		return s.to.scalar(at, v)
	}
	if v.Kind != field.Null {
		var err error
		if v, err = s.convert(v, at.declared); err != nil {
			return err
		}
	}
	return s.to.scalar(at, v)
}

// convert converts v to its declared type.
func (s *typedWriter) convert(v value, declared *schema.Field) (value, error) {
	if declared.Repeated || declared.Type == schema.Nested {
		return v, fmt.Errorf("transcode: %v where the schema has %v", v.Kind, declared)
	}
	switch {
	case v.Kind == field.Untyped && s.from.Name() == "protobuf":
		decoded, err := protobuf.Scalar(v.Bytes, declared.Type)
		return value{Value: decoded, single: declared.Type == schema.Float32}, err
	case v.Kind == field.Untyped:
		decoded, err := s.from.Value(v.Bytes, field.Span{End: len(v.Bytes), Kind: field.Untyped}, declared.Type.Field())
		return value{Value: decoded, single: declared.Type == schema.Float32}, err
	}
	return coerce(v, declared.Type, s.from.Name() == "json", s.notes)
}
