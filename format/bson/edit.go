package bson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
)

var _ format.Editor = Format{}

// Replace plans the change that Patch makes, with the same errors. It takes as long as Lookup and copies only lengths.
func (Format) Replace(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	e.Reset(data)
	var c valueChange
	if err := c.prepare(data, p, &v); err != nil {
		return err
	}
	grown := encodedSize(c.typ, c.subtype, &v) - (c.end - c.at.value)
	if err := checkSize(data, grown); err != nil {
		return err
	}
	if data[c.at.head] != c.typ {
		e.PutCopy(c.at.head, c.at.head+1, []byte{c.typ})
	}
	e.PutCopy(c.at.value, c.end, appendUpToContent(e.Room(), c.typ, c.subtype, &v))
	putContent(e, c.end, c.typ, v)
	updateLengths(e, data, c.lengthOffsets[:p.Len()], grown)
	return nil
}

// Insert plans v at p. In a document the new element becomes the last one. In an array the new element is inserted
// before the element whose index is the last step of p, and later elements get new keys. Short elements are copied for
// that; long values are not. An integer becomes an int32 if it fits, otherwise an int64. Bytes become a binary of the
// generic subtype. For a List, v.Bytes is a document with the keys 0, 1, 2 and so on. The errors are those of
// format.Editor and of Lookup.
func (f Format) Insert(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	e.Reset(data)
	parent, last, ok := p.Parent()
	if !ok {
		return format.ErrExists
	}
	if err := f.checkInsertable(&v, p.Len()); err != nil {
		return err
	}
	var h editedContainer
	if err := h.locate(data, parent); err != nil {
		return err
	}
	pos, err := h.insertOffset(data, &last)
	if err != nil {
		return err
	}
	typ := typeOf(&v)
	b := append(e.Room(), typ)
	if h.array {
		b = strconv.AppendInt(b, int64(last.Index), 10)
	} else {
		b = append(b, last.Name...)
	}
	b = append(b, 0)
	grown := len(b) + encodedSize(typ, 0, &v)
	e.PutCopy(pos, pos, appendUpToContent(b, typ, 0, &v))
	putContent(e, pos, typ, v)
	return h.planKeysAndLengths(e, data, grown, pos, last.Index+1)
}

// Delete plans the removal of the element at p. Later elements of an array get new keys, as in Insert. The errors are
// those of format.Editor and of Lookup.
func (Format) Delete(e *format.Edit, data []byte, p field.Path) error {
	e.Reset(data)
	parent, last, ok := p.Parent()
	if !ok {
		return format.ErrWhole
	}
	var h editedContainer
	if err := h.locate(data, parent); err != nil {
		return err
	}
	at, err := h.locateElement(data, &last)
	if err != nil {
		return err
	}
	end, err := skipValue(data, data[at.head], at.value, at.limit)
	if err != nil {
		return err
	}
	e.Put(at.head, end, nil)
	return h.planKeysAndLengths(e, data, at.head-end, end, last.Index)
}

// checkInsertable returns an error if v cannot be encoded as a new element inside depth nested documents.
func (f Format) checkInsertable(v *field.Value, depth int) error {
	if v.Kind == field.Int && v.Unsigned {
		return tooLarge(v.Kind)
	}
	if v.Kind != field.List {
		return convert.Insert(f, v, depth)
	}
	if err := convert.Insert(f, &field.Value{Kind: field.Map, Bytes: v.Bytes}, depth); err != nil {
		return err
	}
	validated := validator{data: v.Bytes, strict: true}
	for pos, n := minDocument-1, 0; v.Bytes[pos] != 0; n++ {
		c := container{pos, len(v.Bytes) - 1}
		value, err := c.valueOffset(v.Bytes, pos)
		if err == nil {
			err = validated.validateKey(typeArray, valuePlace{pos, value, c.end}, n)
		}
		if err == nil {
			pos, err = skipValue(v.Bytes, v.Bytes[pos], value, c.end)
		}
		if err != nil {
			return fmt.Errorf("bson: the list to be inserted: %w", err)
		}
	}
	return nil
}

// putContent plans the part of v that appendUpToContent does not write: the content, and the NUL after a text.
func putContent(e *format.Edit, pos int, typ byte, v field.Value) {
	e.Put(pos, pos, v.Bytes)
	if endsInNUL(typ) {
		e.Put(pos, pos, nulByte)
	}
}

var nulByte = []byte{0}

// editedContainer is the document or array that an edit changes.
type editedContainer struct {
	container
	array         bool
	lengthCount   int                 // number of lengths that change
	lengthOffsets [field.MaxSteps]int // offsets of the lengths that change; the last one is the length of this container
}

func (h *editedContainer) locate(data []byte, p field.Path) error {
	at, err := locate(data, p, &h.lengthOffsets)
	if err != nil {
		return err
	}
	typ := at.typ(data)
	if typ != typeDocument && typ != typeArray {
		return field.ErrNotFound
	}
	h.array, h.lengthCount = typ == typeArray, p.Len()+1
	h.lengthOffsets[h.lengthCount-1] = at.value
	h.container, err = openContainer(data, at.value, at.limit)
	return err
}

// locateElement returns the place of the element that st selects.
func (h *editedContainer) locateElement(data []byte, st *field.Step) (valuePlace, error) {
	if h.array {
		return h.findItem(data, st.Index)
	}
	return h.findMember(data, st.Name)
}

// insertOffset returns the offset where the new element for st is inserted.
func (h *editedContainer) insertOffset(data []byte, st *field.Step) (int, error) {
	if h.array {
		return h.itemOffset(data, st.Index)
	}
	if strings.IndexByte(st.Name, 0) >= 0 {
		return 0, &format.TypeError{Format: "bson", Have: field.Map, Want: field.String, Reason: fmt.Sprintf("the key %q holds a NUL, which ends a key", st.Name)}
	}
	if err := convert.Name("bson", st.Name); err != nil {
		return 0, err
	}
	_, err := h.findMember(data, st.Name)
	if err == nil {
		return 0, format.ErrExists
	}
	if !errors.Is(err, field.ErrNotFound) {
		return 0, err
	}
	return h.end, nil
}

// itemOffset returns the offset of the element with this index. If index is the length of the array, it returns the
// offset of the array's end.
func (h *editedContainer) itemOffset(data []byte, index int) (int, error) {
	if index < 0 {
		return 0, field.ErrNotFound
	}
	for pos, n := h.pos, 0; ; n++ {
		more, err := h.hasElement(data, pos)
		switch {
		case err != nil:
			return 0, err
		case n == index:
			return pos, nil
		case !more:
			return 0, field.ErrNotFound
		}
		value, err := h.valueOffset(data, pos)
		if err != nil {
			return 0, err
		}
		if pos, err = skipValue(data, data[pos], value, h.end); err != nil {
			return 0, err
		}
	}
}

// planKeysAndLengths plans the changed lengths, and new keys for an array's elements. The elements start at pos and are
// numbered from n. grown is the number of bytes that the change itself adds. After an error the plan is empty.
func (h *editedContainer) planKeysAndLengths(e *format.Edit, data []byte, grown, pos, n int) error {
	if h.array {
		more, err := h.renumber(e, data, pos, n)
		if err != nil {
			e.Reset(data)
			return err
		}
		grown += more
	}
	if err := checkSize(data, grown); err != nil {
		e.Reset(data)
		return err
	}
	updateLengths(e, data, h.lengthOffsets[:h.lengthCount], grown)
	return nil
}

// maxCopied is the size in bytes up to which a value is copied together with its new key. For a longer value it is
// cheaper to leave the value in place and add another part to the plan.
const maxCopied = 512

// renumber plans new keys for the elements that start at pos, numbered from n. It returns how many bytes the new keys
// add.
func (h *editedContainer) renumber(e *format.Edit, data []byte, pos, n int) (grown int, err error) {
	from, b := pos, e.Room() // b replaces data[from:pos]
	for ; ; n++ {
		more, err := h.hasElement(data, pos)
		if err != nil {
			return 0, err
		}
		if !more {
			e.PutCopy(from, pos, b)
			return grown + len(b) - (pos - from), nil
		}
		value, err := h.valueOffset(data, pos)
		if err != nil {
			return 0, err
		}
		end, err := skipValue(data, data[pos], value, h.end)
		if err != nil {
			return 0, err
		}
		b = append(strconv.AppendInt(append(b, data[pos]), int64(n), 10), 0)
		if end-value <= maxCopied {
			b = append(b, data[value:end]...)
		} else {
			e.PutCopy(from, value, b)
			grown += len(b) - (value - from)
			from, b = end, e.Room()
		}
		pos = end
	}
}

// updateLengths adds grown to each of the lengths at offsets.
func updateLengths(e *format.Edit, data []byte, offsets []int, grown int) {
	if grown == 0 {
		return
	}
	for _, at := range offsets {
		var room [4]byte
		binary.LittleEndian.PutUint32(room[:], binary.LittleEndian.Uint32(data[at:])+uint32(grown))
		e.PutCopy(at, at+4, room[:])
	}
}

// checkSize returns an error if the document would exceed the largest int32, the type of a length.
func checkSize(data []byte, grown int) error {
	if int64(binary.LittleEndian.Uint32(data))+int64(grown) > math.MaxInt32 {
		return &format.TypeError{Format: "bson", Have: field.Map, Reason: "the document would exceed the 2 GiB that its length can say"}
	}
	return nil
}
