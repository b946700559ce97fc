package protobuf

import (
	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// enclosingRecords is the records whose content a path leads into, from the outside in.
type enclosingRecords struct {
	records [field.MaxSteps]record
	n       int
}

func (t *enclosingRecords) enter(r record) {
	if t != nil {
		t.records[t.n] = r
		t.n++
	}
}

// root is where the empty path leads.
func (f Format) root(data []byte) valuePlace {
	return valuePlace{span: field.Span{End: len(data), Kind: field.Map}, message: f.Message}
}

// follow is Lookup that knows shapes and, if t is not nil, notes the records on the way.
func (f Format) follow(data []byte, steps []field.Step, t *enclosingRecords) (valuePlace, error) {
	at := f.root(data)
	for i := range steps {
		var err error
		if at.span.Kind == field.List {
			at, err = item(data, at, steps[i].Index, t)
		} else {
			if !at.isMessage() {
				return valuePlace{}, field.ErrNotFound
			}
			if i > 0 {
				t.enter(at.record)
			}
			at, err = at.step(data, &steps[i])
		}
		if err != nil {
			return valuePlace{}, err
		}
	}
	return at, nil
}

// isItem reports whether p is one of the items of a repeated field.
func (p *valuePlace) isItem() bool {
	return p.shape != nil && p.shape.Repeated && p.span.Kind != field.List
}

// isMessage reports whether there may be records in p: it is a message, or bytes that no schema calls anything else.
func (p *valuePlace) isMessage() bool {
	return p.span.Kind == field.Map || p.shape == nil && p.record.wire() == wireLength
}

// step goes from a message to the field that a step leads to.
func (p *valuePlace) step(data []byte, step *field.Step) (valuePlace, error) {
	r, err := findRecord(data, p.span.Off, p.span.End, numberOfName(p.message, step))
	if err != nil {
		return valuePlace{}, err
	}
	hint := 0
	return placeOf(data, r, fieldByNumber(p.message, r.number(), &hint), p.span.End)
}

// item goes from a list to one of its items.
func item(data []byte, list valuePlace, index int, t *enclosingRecords) (valuePlace, error) {
	if index < 0 {
		return valuePlace{}, field.ErrNotFound
	}
	found := valuePlace{}
	err := items(data, list.span, list.shape, func(i int, r record, s field.Span) bool {
		if i < index {
			return true
		}
		found = itemOf(r, list.shape)
		found.span = s
		if isPacked(list.shape, &r) {
			t.enter(r)
		}
		return false
	})
	if err == nil && !found.span.Found() {
		err = field.ErrNotFound
	}
	return found, err
}

// items calls each for the items of list, with the record that each is or stands in, until each returns false.
func items(data []byte, list field.Span, d *schema.Field, each func(index int, r record, s field.Span) bool) error {
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
