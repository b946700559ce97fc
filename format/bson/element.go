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
	typeRegex         = 0x0b // two C strings
	typeDBPointer     = 0x0c // deprecated: a string and 12 bytes
	typeCode          = 0x0d
	typeSymbol        = 0x0e // deprecated
	typeCodeWithScope = 0x0f // deprecated: its length, a string, a document
	typeInt32         = 0x10
	typeTimestamp     = 0x11 // uint64: seconds above a counter
	typeInt64         = 0x12
	typeDecimal128    = 0x13
	typeMaxKey        = 0x7f
	typeMinKey        = 0xff
)

// subtypeOldBinary is the subtype whose content has a second length. bsonspec.org 1.1, production subtype.
const subtypeOldBinary = 0x02

const (
	minDocument  = 5  // bytes: a length and a NUL
	minWithScope = 14 // bytes: a length, an empty string, an empty document
	pointed      = 12 // size of the ObjectID in a DBPointer, in bytes
)

const variableWidth = 0xff // in widths

// widths is the size in bytes of the types with a fixed size; variableWidth for the others.
var widths = func() (t [256]byte) {
	for i := range t {
		t[i] = variableWidth
	}
	for typ, n := range map[byte]byte{
		typeDouble: 8, typeUndefined: 0, typeObjectID: 12, typeBool: 1, typeDatetime: 8, typeNull: 0, typeInt32: 4,
		typeTimestamp: 8, typeInt64: 8, typeDecimal128: 16, typeMaxKey: 0, typeMinKey: 0,
	} {
		t[typ] = n
	}
	return t
}()

// kinds is the kind of each type; Missing for a byte that is not a type.
var kinds = [256]field.Kind{
	typeDouble: field.Float, typeString: field.Text, typeDocument: field.Map, typeArray: field.List, typeBinary: field.Bytes,
	typeUndefined: field.Null, typeObjectID: field.Extension, typeBool: field.Bool, typeDatetime: field.Int, typeNull: field.Null,
	typeRegex: field.Extension, typeDBPointer: field.Extension, typeCode: field.Text, typeSymbol: field.Text,
	typeCodeWithScope: field.Extension, typeInt32: field.Int, typeTimestamp: field.Extension, typeInt64: field.Int,
	typeDecimal128: field.Extension, typeMaxKey: field.Extension, typeMinKey: field.Extension,
}

// container is a document or array. Its end is a claim that may exceed the data.
type container struct {
	pos, end int // offsets of its first element, and of the NUL that closes it
}

// openContainer reads the length of the document or array at pos, which must end at limit or before.
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

// hasElement reports whether an element starts at pos; false for the NUL that closes c.
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

// shortKey is the length in bytes up to which a loop finds the end of a key faster than a call.
const shortKey = 16

// valueOffset returns where the value of the element at pos starts: behind the type, the key and its NUL.
func (c container) valueOffset(data []byte, pos int) (int, error) {
	for at, limit := pos+1, min(c.end, len(data), pos+shortKey); at < limit; at++ {
		if data[at] == 0 {
			return at + 1, nil
		}
	}
	return skipCString(data, pos+1, c.end, "key")
}

// skipCString returns the offset behind the C string at pos, which must end at end or before.
func skipCString(data []byte, pos, end int, what string) (int, error) {
	if limit := min(end, len(data)); pos < limit {
		if n := bytes.IndexByte(data[pos:limit], 0); n >= 0 {
			return pos + n + 1, nil
		}
	}
	return 0, truncated(data, pos, end, what+" without a closing NUL")
}

// skipValue returns the offset behind the value of type typ at pos, in a container that ends at end.
func skipValue(data []byte, typ byte, pos, end int) (int, error) {
	if width := int(widths[typ]); width != variableWidth && width <= min(end, len(data))-pos {
		return pos + width, nil
	}
	if typ == typeRegex { // it has no length and ends with its second NUL
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
		return 0, truncated(data, pos, end, fmt.Sprintf("value of %d bytes where %d are left in its document", n, end-pos))
	}
	return pos + n, nil
}

// valueSize returns the size in bytes of the value of type typ at pos, from its type or its length. The value may be
// incomplete. The container ends at end. A regular expression gives 0.
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
		least, more, what = 1, 4+pointed, "string"
	case typeCodeWithScope:
		least, what = minWithScope, "code with scope"
	case typeRegex:
		return 0, nil
	default:
		if widths[typ] == variableWidth {
			return 0, syntaxError(pos, fmt.Sprintf("value of type 0x%02x, which there is not", typ))
		}
		return int(widths[typ]), nil
	}
	n, err := readLength(data, pos, end, least, what)
	return n + more, err
}

// readLength reads the int32 at pos, in a container that ends at end. A length below least is an error.
func readLength(data []byte, pos, end, least int, what string) (int, error) {
	if end-pos < 4 || len(data)-pos < 4 {
		return 0, truncated(data, pos, end, "length cut off")
	}
	n := int32(binary.LittleEndian.Uint32(data[pos:]))
	if int(n) < least || n > math.MaxInt32-4-pointed { // the sum of a length and a header still fits in an int of 32 bits
		return 0, syntaxError(pos, fmt.Sprintf("%s of length %d", what, n))
	}
	return int(n), nil
}

// truncated returns the error for a value that exceeds its container's end. If the data holds the whole container, the
// container is malformed; otherwise the data ends early.
func truncated(data []byte, pos, end int, reason string) error {
	if end > len(data) {
		return io.ErrUnexpectedEOF
	}
	return syntaxError(pos, reason)
}

func syntaxError(offset int, reason string) error {
	return &format.SyntaxError{Format: "bson", Offset: offset, Reason: reason}
}
