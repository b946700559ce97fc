package protobuf

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Walk calls visit for the message and for each field in order. A step is the name of the field in the schema, or else
// its number. Without a schema all fields are leaves, because only a schema tells which are messages and lists. A
// repeated field in several pieces gives several lists. Validate with a schema refuses such a field. A group is one
// Extension. More than 256 levels are refused.
func (f Format) Walk(data []byte, visit format.Visit) error {
	w := walker{data: data, visit: visit}
	return w.visitValue(field.Step{Index: -1, Key: -1}, 0, f.rootPlace(data))
}

type walker struct {
	data  []byte
	visit format.Visit
}

// visitValue visits p and its content. depth is the number of levels above p.
func (w *walker) visitValue(step field.Step, depth int, p valuePlace) error {
	if depth > MaxDepth {
		return syntaxError(p.span.Head, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	err := w.visit(step, depth, p.span)
	switch {
	case errors.Is(err, format.SkipChildren):
		return nil
	case err != nil:
		return err
	case p.span.Kind == field.Map:
		return w.visitFields(depth+1, p)
	case p.span.Kind == field.List:
		return w.visitItems(depth+1, p)
	}
	return nil
}

func (w *walker) visitFields(depth int, p valuePlace) error {
	hint := 0
	for pos := p.span.Off; pos < p.span.End; {
		r, err := readRecord(w.data, pos, p.span.End)
		if err != nil {
			return err
		}
		step := field.Step{Index: r.number(), Key: -1}
		d := fieldByNumber(p.message, r.number(), &hint)
		if d != nil {
			step = field.Step{Name: d.Name, Index: -1, Key: -1}
		}
		child, err := placeOf(w.data, r, d, p.span.End)
		if err != nil {
			return err
		}
		if err := w.visitValue(step, depth, child); err != nil {
			return err
		}
		pos = child.span.End
	}
	return nil
}

func (w *walker) visitItems(depth int, list valuePlace) error {
	var stop error
	err := eachItem(w.data, list.span, list.shape, func(index int, r record, s field.Span) bool {
		p := itemOf(r, list.shape)
		p.span = s
		stop = w.visitValue(field.Step{Index: index, Key: -1}, depth, p)
		return stop == nil
	})
	if stop != nil {
		return stop
	}
	return err
}
