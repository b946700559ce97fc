package json

import (
	"errors"
	"io"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
)

var _ format.Editor = Format{}

// Replace plans the change that Patch makes, with the same errors. It takes as long as Lookup. It copies v, because v
// may need escapes.
func (f Format) Replace(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	e.Reset(data)
	s, err := f.preparePatch(data, p, &v)
	if err != nil {
		return err
	}
	e.PutCopy(s.Head, endOf(s), appendValue(e.Room(), v))
	return nil
}

// Insert plans v at p, with a comma and without white space. In an object the new member becomes the last one. In a
// list the new item is inserted before the item whose index is the last step of p. Existing white space stays. The
// errors are those of format.Editor and of Lookup.
func (f Format) Insert(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	e.Reset(data)
	parent, last, ok := p.Parent()
	if !ok {
		return format.ErrExists
	}
	if v.Kind == field.Bytes || !isFinite(v) {
		return noFormError(v.Kind)
	}
	text := v.Bytes
	if err := convert.Insert(f, &v, p.Len()); err != nil {
		return err
	}
	keepDecimal(&v, text)
	if err := convert.Name("json", last.Name); err != nil {
		return err
	}
	h, err := findContainer(data, parent)
	if err != nil {
		return err
	}
	s, err := h.findPosition(data, &last)
	switch {
	case err == nil && h.object:
		return format.ErrExists
	case err != nil && (!errors.Is(err, field.ErrNotFound) || !h.object && s.index != last.Index):
		return err
	}
	pos, first := s.previousEnd, s.index == 0 && err == nil // first: the new item becomes the first one
	if first {
		pos = s.start
	}
	b := e.Room()
	if s.index > 0 {
		b = append(b, ',')
	}
	if h.object {
		b = append(AppendText(b, last.Name), ':')
	}
	if v.Kind == field.List || v.Kind == field.Map {
		e.PutCopy(pos, pos, b)
		e.Put(pos, pos, v.Bytes)
	} else {
		e.PutCopy(pos, pos, appendValue(b, v))
	}
	if first {
		e.Put(pos, pos, commaBytes)
	}
	return nil
}

var commaBytes = []byte{','}

// Delete plans the removal of the value at p and its name. If another value remains, one comma is removed too. The
// errors are those of format.Editor and of Lookup.
func (Format) Delete(e *format.Edit, data []byte, p field.Path) error {
	e.Reset(data)
	parent, last, ok := p.Parent()
	if !ok {
		return format.ErrWhole
	}
	h, err := findContainer(data, parent)
	if err != nil {
		return err
	}
	s, err := h.findPosition(data, &last)
	if err != nil {
		return err
	}
	end, err := skipValue(data, s.value)
	if err != nil {
		return err
	}
	if s.index > 0 {
		e.Put(s.previousEnd, end, nil)
		return nil
	}
	next, alone, err := readSeparator(data, end, false, h.bracket())
	if err != nil {
		return err
	}
	if !alone {
		end = next
	}
	e.Put(s.start, end, nil)
	return nil
}

// editedContainer is the object or list that an edit changes.
type editedContainer struct {
	object bool
	start  int // offset after the opening bracket
}

func (h editedContainer) bracket() byte {
	if h.object {
		return '}'
	}
	return ']'
}

func findContainer(data []byte, p field.Path) (editedContainer, error) {
	pos := skipSpace(data, 0)
	steps := p.Steps()
	for i := 0; ; i++ {
		if pos >= len(data) {
			return editedContainer{}, io.ErrUnexpectedEOF
		}
		object := data[pos] == '{'
		if !object && data[pos] != '[' {
			_, err := spanAt(data, pos)
			if err == nil {
				err = field.ErrNotFound
			}
			return editedContainer{}, err
		}
		if i == len(steps) {
			return editedContainer{object, pos + 1}, nil
		}
		var err error
		if object {
			pos, err = enterObject(data, pos+1, &steps[i])
		} else {
			pos, err = enterList(data, pos+1, steps[i].Index)
		}
		if err != nil {
			return editedContainer{}, err
		}
	}
}

// editPosition is the position of a member or item in its container. The member or item exists, or is to be inserted.
type editPosition struct {
	index       int // number of members or items before this one
	previousEnd int // offset after the previous value, or after the opening bracket
	start       int // offset of the member or item
	value       int // offset of the value
}

// findPosition returns the position of the member or item that st selects. Without such a member or item the error is
// field.ErrNotFound, and index and previousEnd are those of a new last member or item.
func (h editedContainer) findPosition(data []byte, st *field.Step) (editPosition, error) {
	s := editPosition{previousEnd: h.start}
	for ; ; s.index++ {
		at, value, hit, err := h.readNext(data, s.previousEnd, s.index, st)
		if err != nil {
			return s, err
		}
		if hit {
			s.start, s.value = at, value
			return s, nil
		}
		if s.previousEnd, err = skipValue(data, value); err != nil {
			return s, err
		}
	}
}

// readNext reads the first member or item after pos, which has n others before it. It returns the offsets of this
// member or item and of its value. hit means that st selects it.
func (h editedContainer) readNext(data []byte, pos, n int, st *field.Step) (at, value int, hit bool, err error) {
	if h.object {
		m, err := readMember(data, pos, n == 0)
		if err == nil && m.value == 0 {
			err = field.ErrNotFound
		}
		if err != nil {
			return 0, 0, false, err
		}
		return m.key - 1, m.value, m.hasName(data, st.Name), nil
	}
	at, end, err := readSeparator(data, pos, n == 0, ']')
	if err == nil && end {
		err = field.ErrNotFound
	}
	return at, at, n == st.Index, err
}
