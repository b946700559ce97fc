package protobuf

import (
	"encoding/binary"
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/schema"
)

// Insert plans a new field at the end of its message, or a new item of a repeated field. An empty list has no bytes, so
// the insertion of item 0 creates the list. A whole list cannot be inserted. A field that the schema does not describe
// is encoded by the kind of v: an integer or bool becomes a varint, and a float has eight bytes. Text, bytes, Untyped
// and the records of a Map get a length. If the message has another member of the field's oneof, the error is a
// *format.TypeError. The other rules are those of format.Editor.
func (f Format) Insert(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	e.Reset(data)
	steps := p.Steps()
	if len(steps) == 0 {
		return format.ErrExists
	}
	var t enclosingRecords
	last := &steps[len(steps)-1]
	parent, err := f.followPath(data, steps[:len(steps)-1], &t)
	if errors.Is(err, field.ErrNotFound) && len(steps) > 1 && last.Index == 0 {
		return f.insertFirstItem(e, data, steps, v)
	}
	if err != nil {
		return err
	}
	if parent.span.Kind == field.List {
		return insertItem(e, data, parent, last.Index, v, len(steps), &t)
	}
	if !parent.isMessage() {
		return field.ErrNotFound
	}
	_, err = parent.step(data, last)
	switch {
	case err == nil:
		return format.ErrExists
	case !errors.Is(err, field.ErrNotFound):
		return err
	}
	d, err := fieldFor(parent.message, last, v)
	if err != nil {
		return err
	}
	if d.Repeated {
		return typeMismatch(v.Kind, field.AnyType, fmt.Sprintf("field %d (%s) is a list: insert its items one by one", d.Number, d.Name))
	}
	if err := checkOneof(data, parent, d); err != nil {
		return err
	}
	return appendField(e, data, parent, d, v, len(steps), &t)
}

// checkOneof returns an error if the message has a member of the oneof that d belongs to.
func checkOneof(data []byte, message valuePlace, d schema.Field) error {
	for i := 0; d.Oneof != "" && i < len(message.message.Fields); i++ {
		other := &message.message.Fields[i]
		if other.Oneof != d.Oneof {
			continue
		}
		switch _, err := findRecord(data, message.span.Off, message.span.End, other.Number); {
		case err == nil:
			return typeMismatch(encodingOf(d.Type).kind, field.AnyType, fmt.Sprintf("field %d (%s) is there, another member of the oneof %s: delete it first", other.Number, other.Name, d.Oneof))
		case !errors.Is(err, field.ErrNotFound):
			return err
		}
	}
	return nil
}

// insertFirstItem inserts the first item of a list. The last step is the index of the item; the steps before it lead to
// the list.
func (f Format) insertFirstItem(e *format.Edit, data []byte, steps []field.Step, v field.Value) error {
	var t enclosingRecords
	above := len(steps) - 2
	message, err := f.followPath(data, steps[:above], &t)
	if err != nil {
		return err
	}
	hint := 0
	d := fieldByNumber(message.message, numberOfName(message.message, &steps[above]), &hint)
	if message.span.Kind != field.Map || d == nil || !d.Repeated {
		return field.ErrNotFound
	}
	return appendField(e, data, message, *d, v, len(steps), &t)
}

// fieldFor returns the field of m that a step names. If m does not describe the field, its type follows from the kind
// of v.
func fieldFor(m *schema.Message, step *field.Step, v field.Value) (schema.Field, error) {
	number, hint := numberOfName(m, step), 0
	if number <= 0 || number > MaxNumber {
		return schema.Field{}, typeMismatch(v.Kind, field.AnyType, fmt.Sprintf("%q is no field number of 1 to %d, nor a name that a schema knows", step.Name, MaxNumber))
	}
	if d := fieldByNumber(m, number, &hint); d != nil {
		return *d, nil
	}
	d := schema.Field{Number: number, Type: schema.Bytes}
	switch v.Kind {
	case field.Bool:
		d.Type = schema.Bool
	case field.Int:
		if d.Type = schema.Int64; v.Unsigned {
			d.Type = schema.Uint64
		}
	case field.Float:
		d.Type = schema.Float64
	case field.Map:
		d.Type = schema.Nested
	}
	return d, nil
}

// appendField plans a record of field d with the value v at the end of a message.
func appendField(e *format.Edit, data []byte, message valuePlace, d schema.Field, v field.Value, depth int, t *enclosingRecords) error {
	if message.record.end > 0 { // not the outermost message, which is in no record
		t.push(message.record)
	}
	return insertRecord(e, data, message.span.End, &d, v, depth, t)
}

// insertRecord plans a record of field d with the value v at pos. depth is the number of steps in the path of v.
func insertRecord(e *format.Edit, data []byte, pos int, d *schema.Field, v field.Value, depth int, t *enclosingRecords) error {
	head := appendTag(e.Room(), d.Number, encodingOf(d.Type).wire)
	if encodingOf(d.Type).wire != wireLength {
		r, err := contentOf(head, d, v, depth)
		if err != nil {
			return err
		}
		e.PutCopy(pos, pos, r)
		t.resize(e, data, len(r))
		return nil
	}
	content, err := contentOf(nil, d, v, depth)
	if err != nil {
		return err
	}
	head = binary.AppendUvarint(head, uint64(len(content)))
	e.PutCopy(pos, pos, head)
	e.Put(pos, pos, content)
	t.resize(e, data, len(head)+len(content))
	return nil
}

// contentOf appends the encoding of v, a new value of field d. It differs from valuePlace.content, which needs an
// existing record.
func contentOf(dst []byte, d *schema.Field, v field.Value, depth int) ([]byte, error) {
	switch {
	case v.Kind == field.Untyped && d.Type == schema.Bytes:
		return v.Bytes, nil
	case v.Kind == field.Map && d.Type == schema.Nested:
		return validatedMessage(d.Message, v, depth)
	}
	return appendTyped(dst, d.Type, v)
}

// insertItem plans a new list item before the item that has this index.
func insertItem(e *format.Edit, data []byte, list valuePlace, index int, v field.Value, depth int, t *enclosingRecords) error {
	if index < 0 {
		return field.ErrNotFound
	}
	count, pos := 0, -1
	var in record // the record that contains pos or starts there; at the end of the list, the last record
	err := eachItem(data, list.span, list.shape, func(i int, r record, s field.Span) bool {
		if count = i + 1; i == index {
			in, pos = r, s.Head
			return false
		}
		in = r
		return true
	})
	switch {
	case err != nil:
		return err
	case pos < 0 && index > count:
		return field.ErrNotFound
	case pos < 0: // after the last item
		if count == 0 {
			in = list.record // an item of an empty list is not packed
		}
		pos = in.end
	}
	if !isPacked(list.shape, &in) {
		return insertRecord(e, data, pos, list.shape, v, depth, t)
	}
	content, err := contentOf(e.Room(), list.shape, v, depth)
	if err != nil {
		return err
	}
	t.push(in)
	e.PutCopy(pos, pos, content)
	t.resize(e, data, len(content))
	return nil
}

// Delete plans the removal of the value at p. For a singular field it removes all records with the field's number,
// because consumers read the last of several. For an item of a repeated field it removes that item only. The other
// rules are those of format.Editor.
func (f Format) Delete(e *format.Edit, data []byte, p field.Path) error {
	e.Reset(data)
	if p.Len() == 0 {
		return format.ErrWhole
	}
	t := enclosingRecords{deleting: true}
	at, err := f.followPath(data, p.Steps(), &t)
	if err != nil {
		return err
	}
	if at.isItem() {
		e.Put(at.span.Head, at.span.End, nil)
		t.resize(e, data, at.span.Head-at.span.End)
		return nil
	}
	pos, end := 0, len(data)
	if t.n > 0 {
		pos, end = t.records[t.n-1].off, t.records[t.n-1].end
	}
	grown := 0
	for pos < end {
		r, err := readRecord(data, pos, end)
		if err != nil {
			e.Reset(data)
			return err
		}
		if r.number() == at.record.number() {
			e.Put(r.head, r.end, nil)
			grown -= r.end - r.head
		}
		pos = r.end
	}
	t.resize(e, data, grown)
	return nil
}
