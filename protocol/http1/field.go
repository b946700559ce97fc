package http1

import "example.com/ferry/protocol/httprule"

// Span is a range of the data that a head was parsed from. Start is the offset of its first byte, End the offset after its
// last byte.
type Span struct{ Start, End uint32 }

// Of returns the bytes of s, a view of data.
func (s Span) Of(data []byte) []byte { return data[s.Start:s.End:s.End] }

// Empty reports whether s has no bytes.
func (s Span) Empty() bool { return s.Start == s.End }

func span(start, end int) Span { return Span{uint32(start), uint32(end)} }

// Field is one header or trailer field. Its Name starts at the beginning of the field's line.
type Field struct {
	Name  Span
	Value Span // the value without white space before and after it
	ID    httprule.ID
}
