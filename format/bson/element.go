package bson

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Types of elements. bsonspec.org 1.1, production element.
const (
	typeDouble        = 0x01
	typeString        = 0x02
	typeDocument      = 0x03
	typeArray         = 0x04
	typeBinary        = 0x05
	typeUndefined     = 0x06 // deprecated
	typeObjectID      = 0x07
	typeBool          = 0x08
	typeDatetime      = 0x09 // int64: milliseconds since 1970, UTC
	typeNull          = 0x0a
	typeRegex         = 0x0b // consists of two C strings
	typeDBPointer     = 0x0c // deprecated: consists of a string and 12 bytes
	typeCode          = 0x0d
	typeSymbol        = 0x0e // deprecated
	typeCodeWithScope = 0x0f // deprecated: consists of a length, a string and a document
	typeInt32         = 0x10
	typeTimestamp     = 0x11 // uint64: seconds in the high 32 bits, a counter in the low 32 bits
	typeInt64         = 0x12
	typeDecimal128    = 0x13
	typeMaxKey        = 0x7f
	typeMinKey        = 0xff
)

// subtypeOldBinary is the subtype of a binary whose content begins with a second length. bsonspec.org 1.1, production
// subtype.
const subtypeOldBinary = 0x02

const (
	minDocument      = 5  // size in bytes of an empty document: a length and a NUL
	minCodeWithScope = 14 // size in bytes of the shortest code with scope: a length, an empty string, an empty document
	objectIDSize     = 12 // size of the ObjectID in a DBPointer, in bytes
)

const variableSize = 0xff // entry in sizeByType for a type without a fixed size

// sizeByType maps a type to the size of its values in bytes, or to variableSize.
var sizeByType = func() (t [256]byte) {
	for i := range t {
		t[i] = variableSize
	}
	for typ, n := range map[byte]byte{
		typeDouble: 8, typeUndefined: 0, typeObjectID: 12, typeBool: 1, typeDatetime: 8, typeNull: 0, typeInt32: 4,
		typeTimestamp: 8, typeInt64: 8, typeDecimal128: 16, typeMaxKey: 0, typeMinKey: 0,
	} {
		t[typ] = n
	}
	return t
}()

// kindByType maps a type to the kind of its values. The kind of a byte that is not a type is Missing.
var kindByType = [256]field.Kind{
	typeDouble: field.Float, typeString: field.Text, typeDocument: field.Map, typeArray: field.List, typeBinary: field.Bytes,
	typeUndefined: field.Null, typeObjectID: field.Extension, typeBool: field.Bool, typeDatetime: field.Int, typeNull: field.Null,
	typeRegex: field.Extension, typeDBPointer: field.Extension, typeCode: field.Text, typeSymbol: field.Text,
	typeCodeWithScope: field.Extension, typeInt32: field.Int, typeTimestamp: field.Extension, typeInt64: field.Int,
	typeDecimal128: field.Extension, typeMaxKey: field.Extension, typeMinKey: field.Extension,
}

// Element is one element of a document.
type Element struct {
	Type       byte
	Name       []byte
	Value, End int // offset of the value, which begins with its length if it has one, and of the next element
}

// Next returns the element at pos of a document, before the NUL that closes it. The first one is at offset 4. It checks the value's length only.
// Data that ends early gives io.ErrUnexpectedEOF, other malformed data *format.SyntaxError.
func Next(document []byte, pos int) (Element, error) {
	c := container{pos, len(document) - 1}
	value, err := c.valueOffset(document, pos)
	if err != nil {
		return Element{}, err
	}
	end, err := skipValue(document, document[pos], value, c.end)
	return Element{document[pos], document[pos+1 : value-1], value, end}, err
}

// container is a document or array. Its end is computed from its length and may exceed the data.
type container struct {
	pos, end int // offset of the first element, and offset of the NUL that closes the container
}

// openContainer reads the length of the document or array at pos. The container must not extend past the offset limit.
func openContainer(data []byte, pos, limit int) (container, error) {
	n, err := readLength(data, pos, limit, minDocument, "document")
	if err != nil {
		return container{}, err
	}
	if n > limit-pos {
		return container{}, syntaxError(pos, fmt.Sprintf("document of %d bytes where %d are left in what it stands in", n, limit-pos))
	}
	return container{pos + 4, pos + n - 1}, nil
}

// hasElement reports whether an element starts at pos. It returns false if pos is the offset of the NUL that closes c.
func (c container) hasElement(data []byte, pos int) (bool, error) {
	if pos >= len(data) {
		return false, io.ErrUnexpectedEOF
	}
	switch b := data[pos]; {
	case (b != 0) == (pos < c.end):
		return b != 0, nil
	case b == 0:
		return false, syntaxError(pos, fmt.Sprintf("document closed %d bytes before its length says", c.end-pos))
	default:
		return false, syntaxError(pos, fmt.Sprintf("byte 0x%02x where the NUL that closes a document should be", b))
	}
}

// maxByteLoopKey is the length in bytes up to which a loop finds the end of a key faster than bytes.IndexByte.
const maxByteLoopKey = 16

// valueOffset returns the offset of the value of the element at pos. The value follows the type, the key and the key's
// NUL.
func (c container) valueOffset(data []byte, pos int) (int, error) {
	for at, limit := pos+1, min(c.end, len(data), pos+maxByteLoopKey); at < limit; at++ {
		if data[at] == 0 {
			return at + 1, nil
		}
	}
	return skipCString(data, pos+1, c.end, "key")
}

// skipCString returns the offset after the C string at pos. The C string must not extend past the offset end.
func skipCString(data []byte, pos, end int, what string) (int, error) {
	if limit := min(end, len(data)); pos < limit {
		if n := bytes.IndexByte(data[pos:limit], 0); n >= 0 {
			return pos + n + 1, nil
		}
	}
	return 0, truncatedError(data, pos, end, what+" without a closing NUL")
}

// skipValue returns the offset after the value at pos. typ is the type of the value, end is the end of the container
// around the value.
func skipValue(data []byte, typ byte, pos, end int) (int, error) {
	if width := int(sizeByType[typ]); width != variableSize && width <= min(end, len(data))-pos {
		return pos + width, nil
	}
	if typ == typeRegex { // a regular expression has no length and ends with its second NUL
		options, err := skipCString(data, pos, end, "regular expression")
		if err != nil {
			return 0, err
		}
		return skipCString(data, options, end, "regular expression")
	}
	n, err := valueSize(data, typ, pos, end)
	if err != nil {
		return 0, err
	}
	if limit := min(end, len(data)); n > limit-pos {
		return 0, truncatedError(data, pos, end, fmt.Sprintf("value of %d bytes where %d are left in its document", n, end-pos))
	}
	return pos + n, nil
}

// valueSize returns the size in bytes of the value at pos. typ is the type of the value, end is the end of the
// container around the value. valueSize uses only the type and the value's length, so the rest of the value may be
// missing. The result for a regular expression is 0.
func valueSize(data []byte, typ byte, pos, end int) (int, error) {
	least, more, what := 0, 0, ""
	switch typ {
	case typeString, typeCode, typeSymbol:
		least, more, what = 1, 4, "string"
	case typeDocument, typeArray:
		least, what = minDocument, "document"
	case typeBinary:
		more, what = 5, "binary"
	case typeDBPointer:
		least, more, what = 1, 4+objectIDSize, "string"
	case typeCodeWithScope:
		least, what = minCodeWithScope, "code with scope"
	case typeRegex:
		return 0, nil
	default:
		if sizeByType[typ] == variableSize {
			return 0, syntaxError(pos, fmt.Sprintf("value of type 0x%02x, which there is not", typ))
		}
		return int(sizeByType[typ]), nil
	}
	n, err := readLength(data, pos, end, least, what)
	return n + more, err
}

// readLength reads the int32 at pos. end is the end of the container around the int32. A length below least is an
// error.
func readLength(data []byte, pos, end, least int, what string) (int, error) {
	if end-pos < 4 || len(data)-pos < 4 {
		return 0, truncatedError(data, pos, end, "length cut off")
	}
	n := int32(binary.LittleEndian.Uint32(data[pos:]))
	if int(n) < least || n > math.MaxInt32-4-objectIDSize { // so that the length plus a header fits an int of 32 bits
		return 0, syntaxError(pos, fmt.Sprintf("%s of length %d", what, n))
	}
	return int(n), nil
}

// truncatedError returns the error for a value that exceeds the end of its container. If data contains the whole
// container, the container is malformed: the error is a *format.SyntaxError. Otherwise data ends early: the error is
// io.ErrUnexpectedEOF.
func truncatedError(data []byte, pos, end int, reason string) error {
	if end > len(data) {
		return io.ErrUnexpectedEOF
	}
	return syntaxError(pos, reason)
}

func syntaxError(offset int, reason string) error {
	return &format.SyntaxError{Format: "bson", Offset: offset, Reason: reason}
}
