package cli

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/schema"
)

// schemaFlags name the schema of messages in a numbered format.
type schemaFlags struct {
	Schema  string `placeholder:"FILE" help:"Names and types for y3 and protobuf: a hint file (JSON), or with --message a protobuf descriptor set."`
	Message string `placeholder:"NAME" help:"The message type in the descriptor set: pkg.Name."`
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

// spelling returns how numbers are written in a predicate. The format of the messages is not known yet: hint files are for Y3,
// descriptor sets for protobuf.
func (s *schemaFlags) spelling() schema.Spelling {
	if s.Message != "" {
		return schema.Decimal
	}
	return schema.Hex
}

// withSchema returns formats with the schema m in those that find names by it.
func withSchema(formats []format.Format, m *schema.Message) []format.Format {
	if m == nil {
		return formats
	}
	with := slices.Clone(formats)
	for i, f := range with {
		if r, ok := f.(schema.Reader); ok {
			with[i] = r.WithSchema(m)
		}
	}
	return with
}

// message is one message, its format and its schema.
type message struct {
	format format.Format
	data   []byte
	shape  *schema.Message // nil if there is none
}

// path returns p with numbers for names, and the type of the value, for a numbered format with a schema; else p as it is.
func (m *message) path(p field.Path) (field.Path, field.Type, error) {
	if m.shape == nil {
		return p, field.AnyType, nil
	}
	d := m.format.Descriptor()
	if !d.Numbered {
		return p, field.AnyType, nil
	}
	spelling := schema.Decimal
	if strings.HasPrefix(d.SampleKey, "0x") {
		spelling = schema.Hex
	}
	numbers, as, err := m.shape.Path(p, spelling)
	if err != nil {
		return p, as, usageError{err}
	}
	if _, ok := m.format.(schema.Reader); ok {
		return p, field.AnyType, nil // the format finds names and types by itself
	}
	return numbers, as, nil
}

// field returns the schema's entry for the value at p; nil if it has none, or if the bytes themselves carry names and types.
func (m *message) field(p field.Path) *schema.Field {
	if m.shape == nil || !m.format.Descriptor().Numbered {
		return nil
	}
	if f, ok := m.shape.At(p); ok {
		return &f
	}
	return nil
}
