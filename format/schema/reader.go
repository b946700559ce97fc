package schema

import "example.com/ferry/format"

// Reader is a format.Format that finds names and types by a schema.
type Reader interface {
	format.Format

	// WithSchema returns the format for messages of the shape m. A nil m gives the format without a schema.
	WithSchema(m *Message) format.Format
}
