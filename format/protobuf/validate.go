package protobuf

import (
	"fmt"
	"iter"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/format/internal/utf8check"
	"example.com/ferry/format/schema"
)

// maxTag is the size in bytes of the longest tag that every consumer accepts. Some consumers read a tag as a 32-bit
// number.
const maxTag = 5

// Validate reads all tags and lengths once. With a schema it also reads those of nested messages. Unless o.BoundsOnly
// is set, it refuses data that consumers read differently:
//
// - groups, which many consumers do not support, and tags of more than five bytes
//
// - with a schema: a string that is not UTF-8, a value that does not have the encoding or range of its field, a
// singular field that occurs twice, two members of a oneof, and a repeated field with other fields between its records
//
// Fields that the schema does not describe are accepted. Without a schema, Validate cannot know which fields repeat,
// and it does not read the content of a field with a length. Empty data is a message without fields. A message ends
// where data does, so o.AllowTrailing has no effect. More than 256 levels are refused, even if o.MaxDepth allows them.
func (f Format) Validate(data []byte, o format.Options) error {
	if f.Message == nil {
		return validateRecords(data, !o.BoundsOnly)
	}
	v := validator{data: data, maxDepth: min(o.Depth(), MaxDepth), strict: !o.BoundsOnly}
	return v.validateMessage(0, len(data), f.Message, 1)
}

type validator struct {
	data     []byte
	maxDepth int
	strict   bool
	seen     keyset.Stack
}

// validateRecords validates the records of a message without a schema.
func validateRecords(data []byte, strict bool) error {
	for pos := 0; ; {
		r, err := scanRecords(data, pos, len(data), 0)
		if err != nil || r.end == 0 {
			return err
		}
		if strict {
			if err := checkCommonRecord(data, r); err != nil {
				return err
			}
		}
		pos = r.end
	}
}

// validateMessage validates the records in data[pos:end]. depth counts this message and the messages and lists around
// it.
func (v *validator) validateMessage(pos, end int, m *schema.Message, depth int) error {
	if depth > v.maxDepth {
		return syntaxError(pos, fmt.Sprintf("nested deeper than %d levels", v.maxDepth))
	}
	start, hint, fields := pos, 0, 0
	open := v.seen.Open()
	var before *schema.Field // field of the previous record
	for pos < end {
		r, err := readRecord(v.data, pos, end)
		if err != nil {
			return err
		}
		pos = r.end
		if v.strict {
			if err := checkCommonRecord(v.data, r); err != nil {
				return err
			}
		}
		d := fieldByNumber(m, r.number(), &hint)
		if d != nil {
			if v.strict && (d != before || !d.Repeated) {
				open.Add(&v.seen, placeHash(d))
				fields++
			}
			if err := v.validateField(&r, d, depth); err != nil {
				return err
			}
		}
		before = d
	}
	if !v.seen.Close(&open) {
		if off := findDuplicate(v.data, start, end, m, fields); off >= 0 {
			r, err := readRecord(v.data, off, end)
			if err != nil {
				return err
			}
			return v.duplicateFieldError(start, &r, m)
		}
	}
	return nil
}

// checkCommonRecord refuses records that some consumers cannot read.
func checkCommonRecord(data []byte, r record) error {
	switch {
	case r.wire() == wireStart:
		return syntaxError(r.head, fmt.Sprintf("field %d is a group, which many consumers do not know", r.number()))
	case r.off-r.head > maxTag && r.tagEnd(data)-r.head > maxTag:
		return syntaxError(r.head, fmt.Sprintf("the tag of field %d has %d bytes: consumers read at most %d", r.number(), r.tagEnd(data)-r.head, maxTag))
	}
	return nil
}

// duplicateFieldError returns the error for r, a record in a place that an earlier record of its message takes. The
// message has the shape m and begins at start.
func (v *validator) duplicateFieldError(start int, r *record, m *schema.Message) error {
	d := fieldAt(v.data, r.head, r.end, m)
	for pos := start; pos < r.head && d.Oneof != ""; {
		before, err := readRecord(v.data, pos, r.head)
		if err != nil {
			return err
		}
		if other := fieldAt(v.data, pos, r.head, m); other != nil && other != d && other.Oneof == d.Oneof {
			return syntaxError(r.head, fmt.Sprintf("field %d (%s) behind field %d (%s): both are members of the oneof %s, of which a message has one", d.Number, d.Name, other.Number, other.Name, d.Oneof))
		}
		pos = before.end
	}
	if d.Repeated {
		return syntaxError(r.head, fmt.Sprintf("more of field %d (%s) behind other fields: a list has to stand in one piece", r.number(), d.Name))
	}
	return syntaxError(r.head, fmt.Sprintf("field %d (%s) stands twice and does not repeat", r.number(), d.Name))
}

// validateField validates r, a record of field d. depth is that of the message around r.
func (v *validator) validateField(r *record, d *schema.Field, depth int) error {
	if !recordFits(d, r) {
		if v.strict {
			return syntaxError(r.head, fmt.Sprintf("field %d (%s) has wire type %d, not that of its type", r.number(), d.Name, r.wire()))
		}
		return nil
	}
	if d.Repeated {
		if depth++; depth > v.maxDepth {
			return syntaxError(r.head, fmt.Sprintf("nested deeper than %d levels", v.maxDepth))
		}
	}
	if d.Type == schema.Nested {
		return v.validateMessage(r.off, r.end, d.Message, depth+1)
	}
	if !isPacked(d, r) {
		return v.validateValue(field.Span{Head: r.head, Off: r.off, End: r.end}, d)
	}
	for pos := r.off; pos < r.end; {
		s, err := packedElement(v.data, pos, r.end, d.Type)
		if err != nil {
			return err
		}
		if err := v.validateValue(s, d); err != nil {
			return err
		}
		pos = s.End
	}
	return nil
}

// validateValue refuses a value of field d that consumers read differently.
func (v *validator) validateValue(s field.Span, d *schema.Field) error {
	if !v.strict {
		return nil
	}
	b := v.data[s.Off:s.End]
	switch encodingOf(d.Type).kind {
	case field.Text:
		if utf8check.Bad(b) >= 0 {
			return syntaxError(s.Head, fmt.Sprintf("field %d (%s) is a string and not UTF-8", d.Number, d.Name))
		}
	case field.Int:
		if n, ok := decodeInteger(d.Type, b); !ok || !inRange(n, d.Type) {
			return syntaxError(s.Head, fmt.Sprintf("field %d (%s) is out of the range of its type", d.Number, d.Name))
		}
	}
	return nil
}

// inRange reports whether n is in the range of type t. decodeInteger has decoded n as type t.
func inRange(n field.Value, t schema.Type) bool {
	switch t.Field() {
	case field.Int32:
		return n.Int == int64(int32(n.Int))
	case field.Uint32:
		return n.Int == int64(uint32(n.Int))
	}
	return true
}

// findDuplicate looks for a singular field that occurs twice, or a list in several pieces, in data[start:end]. It
// returns the offset of the second record, or -1. count is the number of records that recordHeads yields.
func findDuplicate(data []byte, start, end int, m *schema.Message, count int) int {
	same := func(a, b int) bool {
		x, y := fieldAt(data, a, end, m), fieldAt(data, b, end, m)
		return x != nil && y != nil && (x.Number == y.Number || x.Oneof != "" && x.Oneof == y.Oneof)
	}
	return keyset.Duplicate(count, end-start, recordHeads(data, start, end, m), same)
}

// fieldAt returns the field of the record at pos, or nil.
func fieldAt(data []byte, pos, end int, m *schema.Message) *schema.Field {
	tag, _, err := readVarint(data, pos, end)
	if err != nil {
		return nil
	}
	hint := 0
	return fieldByNumber(m, int(tag>>3), &hint)
}

// placeHash returns the hash of the place in a message that a field takes. The members of a oneof take one place.
func placeHash(d *schema.Field) uint64 {
	if d.Oneof != "" {
		h, _ := keyset.Hash([]byte(d.Oneof), false)
		return h
	}
	return keyset.Int(uint64(d.Number), false)
}

// recordHeads yields the offset and the hash of the place of each record that must not share its place with another.
// These are the records of known fields, except that of a list only the first record counts.
func recordHeads(data []byte, start, end int, m *schema.Message) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		hint := 0
		var before *schema.Field
		for pos := start; pos < end; {
			r, err := readRecord(data, pos, end)
			if err != nil {
				return
			}
			d := fieldByNumber(m, r.number(), &hint)
			if d != nil && (d != before || !d.Repeated) && !yield(r.head, placeHash(d)) {
				return
			}
			before, pos = d, r.end
		}
	}
}
