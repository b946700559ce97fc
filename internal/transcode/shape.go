package transcode

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/schema"
)

// place is where a value stands: its step in its parent, and what the schema says of both, nil if nothing.
type place struct {
	field.Step
	in, is *schema.Field
}

// name is the key of a value in a map as text: its name in the schema, its key, a Y3 key in hex, or an integer in decimal.
func (at place) name(notes *Notes) string {
	switch {
	case at.is != nil:
		return at.is.Name
	case at.Name != "":
		return at.Name
	case at.Key < 0 && at.Index >= 0:
		notes.add("integer keys became text")
	}
	return at.String()
}

// shaper stands between what reads a message and the writer of the other one. It looks up what the schema says of each
// value, and gives the value that type.
type shaper struct {
	to       writer
	root     *schema.Field
	open     []*schema.Field // the containers that are open, nil where the schema knows nothing of one
	from     format.Format
	numbered bool // from has numbers for names
	notes    *Notes
}

func newShaper(to writer, root *schema.Field, from format.Format, notes *Notes) *shaper {
	return &shaper{to: to, root: root, from: from, numbered: from.Descriptor().Numbered, notes: notes}
}

func (s *shaper) place(step field.Step) place {
	at := place{Step: step}
	if len(s.open) == 0 {
		at.is = s.root
		return at
	}
	parent := s.open[len(s.open)-1]
	if at.in = parent; parent == nil {
		return at
	}
	if !s.numbered && !parent.Repeated {
		step.Index, step.Key = -1, -1 // a key that is a number is no field number
	}
	if is, ok := parent.Child(step); ok {
		at.is = &is
	}
	return at
}

// begin opens a Map or List, until the end that belongs to it.
func (s *shaper) begin(step field.Step, kind field.Kind) error {
	at := s.place(step)
	if at.is != nil && (kind == field.List) != at.is.Repeated || at.is != nil && kind == field.Map && at.is.Type != schema.Nested {
		return fmt.Errorf("transcode: a %v where the schema has %v", kind, at.is)
	}
	s.open = append(s.open, at.is)
	return s.to.open(at, kind)
}

func (s *shaper) end() error {
	s.open = s.open[:len(s.open)-1]
	return s.to.close()
}

func (s *shaper) scalar(step field.Step, v value) error {
	at := s.place(step)
	if at.is == nil {
		if v.lost != "" {
			s.notes.add(v.lost)
		}
		return s.to.scalar(at, v)
	}
	if v.Kind != field.Null {
		var err error
		if v, err = s.typed(v, at.is); err != nil {
			return err
		}
	}
	return s.to.scalar(at, v)
}

// typed gives v the type that the schema has for it.
func (s *shaper) typed(v value, is *schema.Field) (value, error) {
	if is.Repeated || is.Type == schema.Nested {
		return v, fmt.Errorf("transcode: %v where the schema has %v", v.Kind, is)
	}
	switch {
	case v.Kind == field.Untyped && s.from.Name() == "protobuf":
		return protobufValue(v.Bytes, is.Type)
	case v.Kind == field.Untyped:
		decoded, err := s.from.Value(v.Bytes, field.Span{End: len(v.Bytes), Kind: field.Untyped}, is.Type.Field())
		return value{Value: decoded, single: is.Type == schema.Float32}, err
	}
	return coerce(v, is.Type, s.from.Name() == "json", s.notes)
}
