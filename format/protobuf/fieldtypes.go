package protobuf

import (
	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// scalarEncoding describes how a type is encoded. Encoding, "Message Structure".
type scalarEncoding struct {
	kind   field.Kind
	wire   wireType
	zigzag bool // a signed number in zigzag form. Encoding, "Signed Integers"
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
	return scalarEncoding{field.Untyped, wireLength, false} // a type that this package does not know
}

// isPackable reports whether one record may hold several values of type t without tags between them. Encoding, "Packed
// Repeated Fields".
func isPackable(t schema.Type) bool { return encodingOf(t).wire != wireLength }

// recordFits reports whether the wire type of r is one that field d can have.
func recordFits(d *schema.Field, r *record) bool {
	return r.wire() == encodingOf(d.Type).wire || d.Repeated && r.wire() == wireLength && isPackable(d.Type)
}

// isPacked reports whether r holds several values without tags. r is a record that fits d.
func isPacked(d *schema.Field, r *record) bool {
	return d.Repeated && r.wire() == wireLength && isPackable(d.Type)
}

// fieldByNumber returns the field of m that has this number, or nil. m may be nil. The search starts at index hint and
// stores there where it ended. Most messages have their fields in the order of the schema, so the next search is short.
func fieldByNumber(m *schema.Message, number int, hint *int) *schema.Field {
	if m == nil {
		return nil
	}
	for _, at := range [...]int{*hint, *hint + 1} { // the field of the record before, and the next one
		if at < len(m.Fields) && m.Fields[at].Number == number {
			*hint = at
			return &m.Fields[at]
		}
	}
	at := m.IndexOfNumber(number)
	if at < 0 {
		return nil
	}
	*hint = at
	return &m.Fields[at]
}

// numberOfName returns the field number that a step names in m, which may be nil. The step is a name in the schema, or
// a number. If it is neither, the result is -1.
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

// valuePlace is the place that a path leads to: a span, and its description in the schema.
type valuePlace struct {
	span    field.Span
	record  record          // record of the span; for a list the first record
	shape   *schema.Field   // field in the schema; nil if the schema does not describe the field, or if the record does not fit it
	message *schema.Message // shape of a Map; nil if unknown
}

// placeOf returns the place of a field whose first record is r. end is the end of the message. d is nil without a
// schema.
func placeOf(data []byte, r record, d *schema.Field, end int) (valuePlace, error) {
	if d == nil || !recordFits(d, &r) {
		return valuePlace{span: r.span(), record: r}, nil
	}
	if !d.Repeated {
		return itemOf(r, d), nil
	}
	last, err := recordRun(data, r, d, end)
	return valuePlace{span: field.Span{Head: r.head, Off: r.head, End: last, Kind: field.List}, record: r, shape: d}, err
}

// itemOf returns the place of the record r, which holds one value of field d.
func itemOf(r record, d *schema.Field) valuePlace {
	return valuePlace{
		span:   field.Span{Head: r.head, Off: r.off, End: r.end, Kind: encodingOf(d.Type).kind},
		record: r, shape: d, message: d.Message,
	}
}

// recordRun returns the end of a list whose first record is r. A list is a run of consecutive records of one repeated
// field.
func recordRun(data []byte, r record, d *schema.Field, end int) (int, error) {
	for r.end < end {
		more, err := readRecord(data, r.end, end)
		if err != nil {
			return 0, err
		}
		if more.number() != d.Number || !recordFits(d, &more) {
			break
		}
		r = more
	}
	return r.end, nil
}

// packedElement returns the span of the packed value at pos. The packed values have type t and end at end.
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
