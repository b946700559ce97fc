package schema

import "example.com/ferry/format"

// Reader is a format.Format that reads messages by a schema.
type Reader interface {
	format.Format

	// WithSchema returns the format for messages of the shape m. If m is nil, it returns the format without a schema.
	WithSchema(m *Message) format.Format
}
