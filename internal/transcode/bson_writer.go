package transcode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// Types of BSON elements. bsonspec.org 1.1, production element.
const (
	bsonDouble   = 0x01
	bsonString   = 0x02
	bsonDocument = 0x03
	bsonArray    = 0x04
	bsonBinary   = 0x05
	bsonBool     = 0x08
	bsonNull     = 0x0a
	bsonInt32    = 0x10
	bsonInt64    = 0x12
)

// bsonWriter writes BSON. An integer has the type that the schema declares. Without a schema it is an int32 if it fits,
// and an int64 otherwise.
type bsonWriter struct {
	dst   []byte
	stack []bsonContainer
	notes *Notes
}

type bsonContainer struct {
	list  bool
	start int // offset in dst of the document's length field
	items int
}

func (w *bsonWriter) message() ([]byte, error) { return w.dst, nil }

func (w *bsonWriter) open(at location, kind field.Kind) error {
	list := kind == field.List
	switch {
	case len(w.stack) > 0 && list:
		if err := w.appendKey(at, bsonArray); err != nil {
			return err
		}
	case len(w.stack) > 0:
		if err := w.appendKey(at, bsonDocument); err != nil {
			return err
		}
	case list:
		return errors.New("transcode: a list is no bson message: want a map")
	}
	w.stack = append(w.stack, bsonContainer{list: list, start: len(w.dst)})
	w.dst = append(w.dst, 0, 0, 0, 0)
	return nil
}

func (w *bsonWriter) close() error {
	top := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	w.dst = append(w.dst, 0)
	size := len(w.dst) - top.start
	if size > math.MaxInt32 {
		return fmt.Errorf("transcode: a document of %d bytes has no form in bson: at most %d", size, math.MaxInt32)
	}
	binary.LittleEndian.PutUint32(w.dst[top.start:], uint32(size))
	return nil
}

// appendKey appends the type and the key of an element. The key of a list item is its index. bsonspec.org 1.1, "Array".
func (w *bsonWriter) appendKey(at location, typ byte) error {
	in := &w.stack[len(w.stack)-1]
	name := strconv.Itoa(in.items)
	if !in.list {
		name = at.name(w.notes)
	}
	in.items++
	if strings.IndexByte(name, 0) >= 0 {
		return fmt.Errorf("transcode: the key %q has a NUL, which would end it in bson", name)
	}
	w.dst = append(append(append(w.dst, typ), name...), 0)
	return nil
}

func (w *bsonWriter) scalar(at location, v value) error {
	if len(w.stack) == 0 {
		return errors.New("transcode: a single value is no bson message: want a map")
	}
	if v.number != "" {
		var err error
		if v, err = v.to64Bit(w.notes); err != nil {
			return err
		}
	}
	if v.Kind == field.Int && v.Unsigned {
		return fmt.Errorf("transcode: %d has no form in bson, whose integers are 2^63-1 at most", uint64(v.Int))
	}
	if len(v.Bytes) > math.MaxInt32-16 {
		return fmt.Errorf("transcode: a value of %d bytes has no form in bson: at most %d", len(v.Bytes), math.MaxInt32)
	}
	typ := bsonType(at.declared, v.Value)
	if err := w.appendKey(at, typ); err != nil {
		return err
	}
	switch typ {
	case bsonBool:
		var b byte
		if v.Bool {
			b = 1
		}
		w.dst = append(w.dst, b)
	case bsonInt32:
		w.dst = binary.LittleEndian.AppendUint32(w.dst, uint32(v.Int))
	case bsonInt64:
		w.dst = binary.LittleEndian.AppendUint64(w.dst, uint64(v.Int))
	case bsonDouble:
		w.dst = binary.LittleEndian.AppendUint64(w.dst, math.Float64bits(v.Float))
	case bsonString:
		w.dst = binary.LittleEndian.AppendUint32(w.dst, uint32(len(v.Bytes)+1))
		w.dst = append(append(w.dst, v.Bytes...), 0)
	case bsonBinary:
		w.dst = append(binary.LittleEndian.AppendUint32(w.dst, uint32(len(v.Bytes))), 0) // subtype 0: any bytes
		w.dst = append(w.dst, v.Bytes...)
	}
	return nil
}

// bsonType returns the element type for v. declared is the field of v in the schema, or nil without a schema.
func bsonType(declared *schema.Field, v field.Value) byte {
	switch v.Kind {
	case field.Null:
		return bsonNull
	case field.Bool:
		return bsonBool
	case field.Int:
		if declared != nil && declared.Type.Field() == field.Int32 || declared == nil && v.Int == int64(int32(v.Int)) {
			return bsonInt32
		}
		return bsonInt64
	case field.Float:
		return bsonDouble
	case field.Text:
		return bsonString
	}
	return bsonBinary
}
