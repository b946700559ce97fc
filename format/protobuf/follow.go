package protobuf

import (
	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// trail is the records whose content a path leads into, from the outside in.
type trail struct {
	records [field.MaxSteps]record
	n       int
}

func (t *trail) enter(r record) {
	if t != nil {
		t.records[t.n] = r
		t.n++
	}
}

// root is where the empty path leads.
func (f Format) root(data []byte) place {
	return place{span: field.Span{End: len(data), Kind: field.Map}, message: f.Message}
}

// follow is Lookup that knows shapes and, if t is not nil, notes the records on the way.
func (f Format) follow(data []byte, steps []field.Step, t *trail) (place, error) {
	at := f.root(data)
	for i := range steps {
		var err error
		if at.span.Kind == field.List {
			at, err = item(data, at, steps[i].Index, t)
		} else {
			if !at.isMessage() {
				return place{}, field.ErrNotFound
			}
			if i > 0 {
				t.enter(at.record)
			}
			at, err = at.step(data, &steps[i])
		}
		if err != nil {
			return place{}, err
		}
	}
	return at, nil
}

// isItem reports whether p is one of the items of a repeated field.
func (p *place) isItem() bool { return p.shape != nil && p.shape.Repeated && p.span.Kind != field.List }

// isMessage reports whether there may be records in p: it is a message, or bytes that no schema calls anything else.
func (p *place) isMessage() bool {
	return p.span.Kind == field.Map || p.shape == nil && p.record.wire() == wireLength
}

// step goes from a message to the field that a step leads to.
func (p *place) step(data []byte, step *field.Step) (place, error) {
	r, err := seek(data, p.span.Off, p.span.End, named(p.message, step))
	if err != nil {
		return place{}, err
	}
	hint := 0
	return placeOf(data, r, numbered(p.message, r.number(), &hint), p.span.End)
}

// item goes from a list to one of its items.
func item(data []byte, list place, index int, t *trail) (place, error) {
	if index < 0 {
		return place{}, field.ErrNotFound
	}
	found := place{}
	err := items(data, list.span, list.shape, func(i int, r record, s field.Span) bool {
		if i < index {
			return true
		}
		found = itemOf(r, list.shape)
		found.span = s
		if packed(list.shape, &r) {
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
		r, err := next(data, pos, list.End)
		if err != nil {
			return err
		}
		pos = r.end
		if !packed(d, &r) {
			if !each(index, r, itemOf(r, d).span) {
				return nil
			}
			index++
			continue
		}
		for at := r.off; at < r.end; index++ {
			s, err := element(data, at, r.end, d.Type)
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
