package protobuf

import (
	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// scalarEncoding is how values of a type are written. Encoding, "Message Structure".
type scalarEncoding struct {
	kind   field.Kind
	wire   wireType
	zigzag bool // Encoding, "Signed Integers"
}

var scalarEncodings = [...]scalarEncoding{
	schema.Bytes:    {field.Bytes, wireLength, false},
	schema.String:   {field.Text, wireLength, false},
	schema.Bool:     {field.Bool, wireVarint, false},
	schema.Int32:    {field.Int, wireVarint, false},
	schema.Uint32:   {field.Int, wireVarint, false},
	schema.Int64:    {field.Int, wireVarint, false},
	schema.Uint64:   {field.Int, wireVarint, false},
	schema.Float32:  {field.Float, wireFixed32, false},
	schema.Float64:  {field.Float, wireFixed64, false},
	schema.Nested:   {field.Map, wireLength, false},
	schema.Sint32:   {field.Int, wireVarint, true},
	schema.Sint64:   {field.Int, wireVarint, true},
	schema.Fixed32:  {field.Int, wireFixed32, false},
	schema.Fixed64:  {field.Int, wireFixed64, false},
	schema.Sfixed32: {field.Int, wireFixed32, false},
	schema.Sfixed64: {field.Int, wireFixed64, false},
}

func encodingOf(t schema.Type) scalarEncoding {
	if int(t) < len(scalarEncodings) {
		return scalarEncodings[t]
	}
	return scalarEncoding{field.Untyped, wireLength, false} // a type that the schema package does not have
}

// isPackable reports whether several values of type t may stand in one record, without tags. Encoding, "Packed Repeated
// Fields".
func isPackable(t schema.Type) bool { return encodingOf(t).wire != wireLength }

// fits reports whether r is how a field d is written.
func fits(d *schema.Field, r *record) bool {
	return r.wire() == encodingOf(d.Type).wire || d.Repeated && r.wire() == wireLength && isPackable(d.Type)
}

// isPacked reports whether r, which fits d, holds values without tags.
func isPacked(d *schema.Field, r *record) bool {
	return d.Repeated && r.wire() == wireLength && isPackable(d.Type)
}

// fieldByNumber returns the field of m with the number; nil if m is nil or has none. hint is where to begin looking: fields
// mostly stand in a message in the order of its schema.
func fieldByNumber(m *schema.Message, number int, hint *int) *schema.Field {
	if m == nil {
		return nil
	}
	for n := len(m.Fields); n > 0; n-- {
		if *hint >= len(m.Fields) {
			*hint = 0
		}
		if d := &m.Fields[*hint]; d.Number == number {
			return d
		}
		*hint++
	}
	return nil
}

// numberOfName returns the number that a step leads to from m, which may be nil: that of the field of this name, or the number
// that the step is; -1 if it is neither.
func numberOfName(m *schema.Message, step *field.Step) int {
	if m != nil {
		for i := range m.Fields {
			if m.Fields[i].Name == step.Name {
				return m.Fields[i].Number
			}
		}
	}
	return step.Index
}

// valuePlace is where a path leads: a span, and what the schema says about it.
type valuePlace struct {
	span    field.Span
	record  record          // that the span is, or begins with
	shape   *schema.Field   // nil where the schema does not know the field, or it does not fit
	message *schema.Message // of a Map, if it is known
}

// placeOf is where r leads, the first of the records of a message that end at end: without a schema for it d is nil.
func placeOf(data []byte, r record, d *schema.Field, end int) (valuePlace, error) {
	if d == nil || !fits(d, &r) {
		return valuePlace{span: r.span(), record: r}, nil
	}
	if !d.Repeated {
		return itemOf(r, d), nil
	}
	last, err := recordRun(data, r, d, end)
	return valuePlace{span: field.Span{Head: r.head, Off: r.head, End: last, Kind: field.List}, record: r, shape: d}, err
}

// itemOf is where r leads as one value of d.
func itemOf(r record, d *schema.Field) valuePlace {
	return valuePlace{
		span:   field.Span{Head: r.head, Off: r.off, End: r.end, Kind: encodingOf(d.Type).kind},
		record: r, shape: d, message: d.Message,
	}
}

// recordRun returns the end of the list that begins with r: the records of one repeated field, one after another.
func recordRun(data []byte, r record, d *schema.Field, end int) (int, error) {
	for r.end < end {
		more, err := readRecord(data, r.end, end)
		if err != nil {
			return 0, err
		}
		if more.number() != d.Number || !fits(d, &more) {
			break
		}
		r = more
	}
	return r.end, nil
}

// packedElement returns the value at pos of the packed values of type t that end at end.
func packedElement(data []byte, pos, end int, t schema.Type) (field.Span, error) {
	s := field.Span{Head: pos, Off: pos, Kind: encodingOf(t).kind}
	switch encodingOf(t).wire {
	case wireFixed32:
		s.End = pos + 4
	case wireFixed64:
		s.End = pos + 8
	default:
		var err error
		if _, s.End, err = readVarint(data, pos, end); err != nil {
			return s, err
		}
	}
	if s.End > end {
		return s, truncated(data, pos, end, "a packed value has no end")
	}
	return s, nil
}
