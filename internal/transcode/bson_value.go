package transcode

import (
	"encoding/hex"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Types of BSON elements. bsonspec.org 1.1, production element.
const (
	bsonBinary = 0x05
	bsonInt64  = 0x12
)

// bsonOnlyTypes names the BSON types that no other format has. bsonspec.org 1.1, production element.
var bsonOnlyTypes = map[byte]string{
	0x0b: "a regular expression", 0x0c: "a DBPointer", 0x0f: "code with a scope", 0x11: "a timestamp of the oplog",
	0x13: "a decimal128", 0x7f: "the max key", 0xff: "the min key",
}

// bsonValue decodes the scalar at a span. For types that other formats do not have, it adds a note: an ObjectID becomes
// hex text, and a datetime becomes its milliseconds as an integer.
func bsonValue(f format.Format, data []byte, at field.Span, notes *Notes) (value, error) {
	typ := data[at.Head]
	if name := bsonOnlyTypes[typ]; name != "" {
		return value{}, fmt.Errorf("transcode: %s has no form outside of bson", name)
	}
	if typ == 0x07 {
		notes.add("ObjectIDs became hex text")
		return value{Value: field.Value{Kind: field.Text, Bytes: hex.AppendEncode(nil, data[at.Off:at.End])}}, nil
	}
	v, err := f.Value(data, at, field.AnyType)
	out := value{Value: v}
	switch {
	case err != nil:
	case typ == 0x06:
		notes.add("undefined became null")
	case typ == 0x09:
		notes.add("datetimes became milliseconds since 1970")
	case typ == 0x0d || typ == 0x0e:
		notes.add("code and symbols became text")
	case typ == bsonBinary && data[at.Off-1] != 0:
		notes.add("the subtypes of binaries were dropped")
	case typ == bsonInt64 && v.Int == int64(int32(v.Int)):
		out.note = "int64 values that an int32 holds lost their width"
	}
	return out, err
}
