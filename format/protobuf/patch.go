package protobuf

import (
	"encoding/binary"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

var (
	_ format.Editor = Format{}
	_ format.Caster = Format{}
)

// Patch writes data to dst with the value at p replaced by v, and returns the extended dst; the lengths of all messages
// around it are put right. With a schema v is written as the field's type. Without one it is written as the wire type of
// what it replaces allows: an integer as a varint or in four or eight bytes, a float in four or eight, a bool as a varint,
// text and bytes behind a length, and Untyped bytes of any wire type as they are. A float that float32 would round has to
// be Cast first. A Map is the records of a message, in v.Bytes. On an error dst is returned as it was.
func (f Format) Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error) {
	var e format.Edit
	if err := f.Replace(&e, data, p, v); err != nil {
		return dst, err
	}
	return e.AppendTo(dst), nil
}

// PatchInPlace overwrites the value at p in data itself, if v, written as Patch does, takes exactly as many bytes. Else it
// returns false and leaves data untouched.
func (f Format) PatchInPlace(data []byte, p field.Path, v field.Value) (bool, error) {
	var t enclosingRecords
	at, err := f.follow(data, p.Steps(), &t)
	if err != nil {
		return false, err
	}
	var scratch [binary.MaxVarintLen64]byte
	content, err := at.content(scratch[:0], v, p.Len())
	if err != nil {
		return false, err
	}
	if len(content) == at.span.End-at.span.Off && at.record.isShort(data) && t.isShort(data) {
		copy(data[at.span.Off:], content)
		return true, nil
	}
	var e format.Edit
	err = f.Replace(&e, data, p, v) // a length that is longer than need be leaves room
	return err == nil && e.InPlace(), err
}

// isShort reports whether no length of t is longer than it need be.
func (t *enclosingRecords) isShort(data []byte) bool {
	for i := range t.records[:t.n] {
		if !t.records[i].isShort(data) {
			return false
		}
	}
	return true
}

// isShort reports whether the length of r, if it has one, is not longer than it need be.
func (r record) isShort(data []byte) bool {
	return r.wire() != wireLength || r.off-r.value(data) == uvarintSize(r.end-r.off)
}

// Replace plans what Patch does.
func (f Format) Replace(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	e.Reset(data)
	var t enclosingRecords
	at, err := f.follow(data, p.Steps(), &t)
	if err != nil {
		return err
	}
	content, err := at.content(e.Room(), v, p.Len())
	if err != nil {
		return err
	}
	if at.isWhole() && at.record.wire() == wireLength {
		t.enter(at.record)
		e.Put(at.span.Off, at.span.End, content)
	} else {
		e.PutCopy(at.span.Off, at.span.End, content)
	}
	t.resize(e, data, len(content)-(at.span.End-at.span.Off))
	return nil
}

// content appends to dst what is written for v in place of p, which stands in depth containers. What has a length is
// returned as it is instead.
func (p *valuePlace) content(dst []byte, v field.Value, depth int) ([]byte, error) {
	switch {
	case depth == 0:
		return nil, mismatch(field.Map, field.AnyType, "the whole message cannot be replaced: name a field")
	case p.span.Kind == field.List:
		return nil, mismatch(field.List, field.AnyType, "a list cannot be replaced as a whole: name an item")
	case v.Kind == field.Map && p.isMessage():
		return messageOf(p.message, v, depth)
	case p.shape == nil:
		return appendUntyped(dst, p.record.wire(), v)
	}
	return appendTyped(dst, p.shape.Type, v)
}

// isWhole reports whether p is all of its record, not one of several values packed in it.
func (p *valuePlace) isWhole() bool { return p.span.Head == p.record.head }

// resize writes the lengths of the records of t anew, where what the innermost holds takes grown bytes more.
func (t *enclosingRecords) resize(e *format.Edit, data []byte, grown int) {
	var scratch [binary.MaxVarintLen64]byte
	for i := t.n - 1; i >= 0; i-- {
		r := &t.records[i]
		value, length := r.value(data), r.end-r.off+grown
		e.PutCopy(value, r.off, binary.AppendUvarint(scratch[:0], uint64(length)))
		grown += uvarintSize(length) - (r.off - value)
	}
}
