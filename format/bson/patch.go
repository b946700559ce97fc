package bson

import (
	"encoding/binary"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
)

// Patch appends data to dst, with v in place of the value at p, and returns the extended dst. It updates the lengths of
// all enclosing documents and arrays. The element keeps its type: a new integer must be in the range of the old int32
// or int64, and a binary keeps its subtype. A null may be replaced by a value of any type; an integer then becomes an
// int32 if it fits. Bytes after the value are copied without a check. On an error dst is returned unchanged:
// field.ErrNotFound, *format.TypeError if v cannot replace the old value, or an error of Lookup.
func (Format) Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error) {
	var c valueChange
	if err := c.prepare(data, p, &v); err != nil {
		return dst, err
	}
	base, grown := len(dst), encodedSize(c.typ, c.subtype, &v)-(c.end-c.at.value)
	if err := checkSize(data, grown); err != nil {
		return dst, err
	}
	dst = append(dst, data[:c.at.value]...)
	dst[base+c.at.head] = c.typ
	dst = appendValue(dst, c.typ, c.subtype, &v)
	dst = append(dst, data[c.end:]...)
	for _, at := range c.lengthOffsets[:p.Len()] {
		b := dst[base+at:]
		binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)+uint32(grown))
	}
	return dst, nil
}

// PatchInPlace overwrites the value at p in data itself if the value that Patch would write has exactly as many bytes.
// Otherwise it returns false and leaves data unchanged. The time does not depend on the bytes after the value.
func (Format) PatchInPlace(data []byte, p field.Path, v field.Value) (bool, error) {
	var c valueChange
	if err := c.prepare(data, p, &v); err != nil || encodedSize(c.typ, c.subtype, &v) != c.end-c.at.value {
		return false, err
	}
	data[c.at.head] = c.typ
	appendValue(data[c.at.value:c.at.value:c.end], c.typ, c.subtype, &v)
	return true, nil
}

// valueChange is the old value that a patch replaces, and the type of the new value.
type valueChange struct {
	at            valuePlace
	end           int                 // offset after the old value
	typ, subtype  byte                // type of the new value, and subtype if it is a binary
	lengthOffsets [field.MaxSteps]int // offsets of the lengths of the containers around the value
}

// prepare finds the value at p, and converts v to the kind of this value.
func (c *valueChange) prepare(data []byte, p field.Path, v *field.Value) error {
	var err error
	if c.at, err = locate(data, p, &c.lengthOffsets); err != nil {
		return err
	}
	s, err := c.at.span(data)
	if err != nil {
		return err
	}
	if err := convert.Replace("bson", v, s.Kind); err != nil {
		return err
	}
	c.end = endOf(s)
	switch c.typ = data[c.at.head]; s.Kind {
	case field.Bytes:
		c.subtype = data[c.at.value+4]
	case field.Null:
		c.typ = typeOf(v)
	}
	if v.Kind != field.Int {
		return nil
	}
	if v.Unsigned {
		return tooLarge(s.Kind)
	}
	if c.typ == typeInt32 && v.Int != int64(int32(v.Int)) {
		return &format.TypeError{Format: "bson", Have: s.Kind, Want: field.Int64, Reason: "an int32 stands there: give a number in its range"}
	}
	return nil
}

func tooLarge(have field.Kind) error {
	return &format.TypeError{Format: "bson", Have: have, Want: field.Uint64, Reason: "an integer of BSON is 2^63-1 at most"}
}

// AppendElement appends an element with a name, which has no NUL, and the value v. An integer is an int32 if it fits, unless wide is set. It must not
// be Unsigned. Of a List or Map without bytes it appends the type and the name only.
func AppendElement(dst []byte, name string, v *field.Value, wide bool) []byte {
	typ := typeOf(v)
	if wide && typ == typeInt32 {
		typ = typeInt64
	}
	return appendValue(append(append(append(dst, typ), name...), 0), typ, 0, v)
}

// typeOf returns the type that v has in a new element.
func typeOf(v *field.Value) byte {
	switch v.Kind {
	case field.Bool:
		return typeBool
	case field.Int:
		if v.Int == int64(int32(v.Int)) {
			return typeInt32
		}
		return typeInt64
	case field.Float:
		return typeDouble
	case field.Text:
		return typeString
	case field.Bytes:
		return typeBinary
	case field.List:
		return typeArray
	case field.Map:
		return typeDocument
	}
	return typeNull
}

// encodedSize returns the number of bytes that appendValue writes.
func encodedSize(typ, subtype byte, v *field.Value) int {
	switch {
	case sizeByType[typ] != variableSize:
		return int(sizeByType[typ])
	case typ == typeBinary && subtype == subtypeOldBinary:
		return 9 + len(v.Bytes)
	case typ == typeDocument || typ == typeArray:
		return len(v.Bytes)
	}
	return 5 + len(v.Bytes) // text: a length and a NUL; binary: a length and a subtype
}

func appendValue(dst []byte, typ, subtype byte, v *field.Value) []byte {
	dst = append(appendUpToContent(dst, typ, subtype, v), v.Bytes...)
	if endsInNUL(typ) {
		dst = append(dst, 0)
	}
	return dst
}

func endsInNUL(typ byte) bool { return typ == typeString || typ == typeCode || typ == typeSymbol }

// appendUpToContent appends the part of an encoded value that precedes v.Bytes.
func appendUpToContent(dst []byte, typ, subtype byte, v *field.Value) []byte {
	switch typ {
	case typeBool:
		if v.Bool {
			return append(dst, 1)
		}
		return append(dst, 0)
	case typeInt32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v.Int))
	case typeInt64, typeDatetime:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.Int))
	case typeDouble:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float))
	case typeString, typeCode, typeSymbol:
		return binary.LittleEndian.AppendUint32(dst, uint32(len(v.Bytes)+1))
	case typeBinary:
		if subtype != subtypeOldBinary {
			return append(binary.LittleEndian.AppendUint32(dst, uint32(len(v.Bytes))), subtype)
		}
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(v.Bytes)+4)), subtype)
		return binary.LittleEndian.AppendUint32(dst, uint32(len(v.Bytes)))
	}
	return dst // null has no content
}
