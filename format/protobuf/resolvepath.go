package protobuf

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// enclosingRecords holds the records around the value that a path leads to, outermost first.
type enclosingRecords struct {
	records  [field.MaxSteps]record
	n        int
	deleting bool // the last step of the path may lead to several records
}

func (t *enclosingRecords) push(r record) {
	if t != nil {
		t.records[t.n] = r
		t.n++
	}
}

// rootPlace returns the place of the whole message.
func (f Format) rootPlace(data []byte) valuePlace {
	return valuePlace{span: field.Span{End: len(data), Kind: field.Map}, message: f.Message}
}

// followPath is Lookup that uses the schema. If t is not nil, followPath stores the records around the value in t.
func (f Format) followPath(data []byte, steps []field.Step, t *enclosingRecords) (valuePlace, error) {
	at := f.rootPlace(data)
	for i := range steps {
		var err error
		if at.span.Kind == field.List {
			at, err = listItem(data, at, steps[i].Index, t)
		} else {
			if !at.isMessage() {
				return valuePlace{}, field.ErrNotFound
			}
			if i > 0 {
				t.push(at.record)
			}
			end := at.span.End
			if at, err = at.step(data, &steps[i]); err == nil && t != nil && at.shape == nil && (!t.deleting || i < len(steps)-1) {
				err = checkSingle(data, at.record, end)
			}
		}
		if err != nil {
			return valuePlace{}, err
		}
	}
	return at, nil
}

// checkSingle refuses to change r, a record that no schema describes, if its message has another record with the same
// number: decoders read the last one or merge all of them, and r is the first. The message ends at end.
func checkSingle(data []byte, r record, end int) error {
	_, err := findRecord(data, r.end, end, r.number())
	switch {
	case err == nil:
		return typeMismatch(r.span().Kind, field.AnyType, fmt.Sprintf("field %d occurs more than once, and decoders may read the last one only: use a schema, which says whether it is a list", r.number()))
	case errors.Is(err, field.ErrNotFound):
		return nil
	}
	return err
}

// isItem reports whether p is an item of a repeated field.
func (p *valuePlace) isItem() bool {
	return p.shape != nil && p.shape.Repeated && p.span.Kind != field.List
}

// isMessage reports whether p may hold records. p is then a message, or bytes with a length that no schema describes.
func (p *valuePlace) isMessage() bool {
	return p.span.Kind == field.Map || p.shape == nil && p.record.wire() == wireLength
}

// step returns the place of the field of p that the given step names.
func (p *valuePlace) step(data []byte, step *field.Step) (valuePlace, error) {
	r, err := findRecord(data, p.span.Off, p.span.End, numberOfName(p.message, step))
	if err != nil {
		return valuePlace{}, err
	}
	hint := 0
	return placeOf(data, r, fieldByNumber(p.message, r.number(), &hint), p.span.End)
}

// listItem returns the place of the list item that has this index.
func listItem(data []byte, list valuePlace, index int, t *enclosingRecords) (valuePlace, error) {
	if index < 0 {
		return valuePlace{}, field.ErrNotFound
	}
	found := valuePlace{}
	err := eachItem(data, list.span, list.shape, func(i int, r record, s field.Span) bool {
		if i < index {
			return true
		}
		found = itemOf(r, list.shape)
		found.span = s
		if isPacked(list.shape, &r) {
			t.push(r)
		}
		return false
	})
	if err == nil && !found.span.Found() {
		err = field.ErrNotFound
	}
	return found, err
}

// eachItem calls each for every item of the list, until each returns false. r is the record of the item, or the record
// of packed values that holds the item.
func eachItem(data []byte, list field.Span, d *schema.Field, each func(index int, r record, s field.Span) bool) error {
	index := 0
	for pos := list.Off; pos < list.End; {
		r, err := readRecord(data, pos, list.End)
		if err != nil {
			return err
		}
		pos = r.end
		if !isPacked(d, &r) {
			if !each(index, r, itemOf(r, d).span) {
				return nil
			}
			index++
			continue
		}
		for at := r.off; at < r.end; index++ {
			s, err := packedElement(data, at, r.end, d.Type)
			if err != nil {
				return err
			}
			if !each(index, r, s) {
				return nil
			}
			at = s.End
		}
	}
	return nil
}
