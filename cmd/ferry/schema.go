package main

import (
	"bytes"
	"fmt"
	"os"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/schema"
)

// schemaFlags name the schema of messages whose bytes carry numbers for names.
type schemaFlags struct {
	Schema  string `placeholder:"FILE" help:"Names and types for y3 and protobuf: a hint file (JSON), or with --message a descriptor set of protobuf."`
	Message string `placeholder:"NAME" help:"Which message of the descriptor set: pkg.Name."`
}

// load returns the schema; nil if none is named.
func (s *schemaFlags) load() (*schema.Message, error) {
	if s.Schema == "" {
		if s.Message != "" {
			return nil, usagef("--message %s: name the descriptor set that has it with --schema", s.Message)
		}
		return nil, nil
	}
	data, err := os.ReadFile(s.Schema)
	if err != nil {
		return nil, err
	}
	var m *schema.Message
	if s.Message != "" {
		m, err = protobuf.ParseDescriptorSet(data, s.Message)
	} else {
		m, err = schema.Parse(data)
	}
	switch {
	case err == nil:
		return m, nil
	case s.Message == "" && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")):
		err = fmt.Errorf("%w: a hint file is a JSON object; for a descriptor set, say with --message which of its messages it is", err)
	}
	return nil, usageError{fmt.Errorf("%s: %w", s.Schema, err)}
}

// spelling is how the numbers of a schema are written in a predicate over messages whose format is not known yet: hint
// files describe Y3, descriptor sets protobuf.
func (s *schemaFlags) spelling() schema.Spelling {
	if s.Message != "" {
		return schema.Decimal
	}
	return schema.Hex
}

// withShape returns formats with the schema m in those that take one.
func withShape(formats []format.Format, m *schema.Message) []format.Format {
	shaped := make([]format.Format, len(formats))
	for i, f := range formats {
		if f.Name() == "protobuf" && m != nil {
			f = protobuf.Format{Message: m}
		}
		shaped[i] = f
	}
	return shaped
}

// message is one message and how to read it.
type message struct {
	format format.Format
	data   []byte
	shape  *schema.Message // nil if there is none
}

// path returns p as it is in the bytes, and the type to read what is there as, so far as that takes a schema.
func (m *message) path(p field.Path) (field.Path, field.Type, error) {
	if m.shape == nil {
		return p, field.AnyType, nil
	}
	var err error
	as := field.AnyType
	switch m.format.Name() {
	case "protobuf": // finds names by itself
		_, _, err = m.shape.Path(p, schema.Decimal)
	case "y3", "y3n":
		p, as, err = m.shape.Path(p, schema.Hex)
	}
	if err != nil {
		return p, as, usageError{err}
	}
	return p, as, nil
}

// field returns what the schema says of the value at p, which the bytes do not; nil if nothing.
func (m *message) field(p field.Path) *schema.Field {
	if name := m.format.Name(); m.shape == nil || name != "y3" && name != "y3n" && name != "protobuf" {
		return nil // the bytes say it all
	}
	if f, ok := m.shape.At(p); ok {
		return &f
	}
	return nil
}
