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

// Patch appends data to dst with the value at p replaced by v, and returns the extended dst. It updates the lengths of
// all messages around the value. With a schema, v is encoded as the type of the field. Without a schema, the wire type
// of the old value decides. An integer becomes a varint, or has four or eight bytes. A float has four or eight bytes. A
// bool becomes a varint. Text and bytes get a length. Untyped bytes are copied. A float that float32 would round gives
// an error: use Cast first. For a Map, v.Bytes is the records of a message. A field that no schema describes must occur
// once in its message, because decoders read the last of several records, or all. On an error Patch returns dst
// unchanged.
func (f Format) Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error) {
	var e format.Edit
	if err := f.Replace(&e, data, p, v); err != nil {
		return dst, err
	}
	return e.AppendTo(dst), nil
}

// PatchInPlace overwrites the value at p in data itself. It does so only if v, encoded as in Patch, has exactly as many
// bytes as the old value. Otherwise it returns false and leaves data unchanged.
func (f Format) PatchInPlace(data []byte, p field.Path, v field.Value) (bool, error) {
	var t enclosingRecords
	at, err := f.followPath(data, p.Steps(), &t)
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
	err = f.Replace(&e, data, p, v) // an old length may be longer than necessary, so that a longer value still has room
	return err == nil && e.InPlace(), err
}

// isShort reports whether the lengths of all records of t have the shortest form.
func (t *enclosingRecords) isShort(data []byte) bool {
	for i := range t.records[:t.n] {
		if !t.records[i].isShort(data) {
			return false
		}
	}
	return true
}

// isShort reports whether the length of r has the shortest form. A record without a length is short.
func (r record) isShort(data []byte) bool {
	return r.wire() != wireLength || r.off-r.tagEnd(data) == uvarintSize(r.end-r.off)
}

// Replace plans the change that Patch makes.
func (f Format) Replace(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	e.Reset(data)
	var t enclosingRecords
	at, err := f.followPath(data, p.Steps(), &t)
	if err != nil {
		return err
	}
	content, err := at.content(e.Room(), v, p.Len())
	if err != nil {
		return err
	}
	if at.isWhole() && at.record.wire() == wireLength {
		t.push(at.record)
		e.Put(at.span.Off, at.span.End, content)
	} else {
		e.PutCopy(at.span.Off, at.span.End, content)
	}
	t.resize(e, data, len(content)-(at.span.End-at.span.Off))
	return nil
}

// content appends the encoding of v for the place p to dst. depth is the number of steps in the path of p. Content with
// a length is returned itself, without dst.
func (p *valuePlace) content(dst []byte, v field.Value, depth int) ([]byte, error) {
	switch {
	case depth == 0:
		return nil, typeMismatch(field.Map, field.AnyType, "the whole message cannot be replaced: name a field")
	case p.span.Kind == field.List:
		return nil, typeMismatch(field.List, field.AnyType, "a list cannot be replaced as a whole: name an item")
	case v.Kind == field.Map && p.isMessage():
		return validatedMessage(p.message, v, depth)
	case p.shape == nil:
		return appendUntyped(dst, p.record.wire(), v)
	}
	return appendTyped(dst, p.shape.Type, v)
}

// isWhole reports whether p is a whole record. Otherwise p is one of several packed values.
func (p *valuePlace) isWhole() bool { return p.span.Head == p.record.head }

// resize plans new lengths for the records of t. The content of the innermost record grows by grown bytes.
func (t *enclosingRecords) resize(e *format.Edit, data []byte, grown int) {
	var scratch [binary.MaxVarintLen64]byte
	for i := t.n - 1; i >= 0; i-- {
		r := &t.records[i]
		value, length := r.tagEnd(data), r.end-r.off+grown
		e.PutCopy(value, r.off, binary.AppendUvarint(scratch[:0], uint64(length)))
		grown += uvarintSize(length) - (r.off - value)
	}
}
