package transcode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format/bson"
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
	switch {
	case len(w.stack) > 0:
		if err := w.appendElement(at, &field.Value{Kind: kind}); err != nil {
			return err
		}
	case kind == field.List:
		return errors.New("transcode: a list is no bson message: want a map")
	}
	w.stack = append(w.stack, bsonContainer{list: kind == field.List, start: len(w.dst)})
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

// appendElement appends an element, of a container only the type and the key. The key of a list item is its index. bsonspec.org 1.1, "Array".
func (w *bsonWriter) appendElement(at location, v *field.Value) error {
	in := &w.stack[len(w.stack)-1]
	name := strconv.Itoa(in.items)
	if !in.list {
		name = at.name(w.notes)
	}
	in.items++
	if strings.IndexByte(name, 0) >= 0 {
		return fmt.Errorf("transcode: the key %q has a NUL, which would end it in bson", name)
	}
	w.dst = bson.AppendElement(w.dst, name, v, at.declared != nil && at.declared.Type.Field() != field.Int32)
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
	return w.appendElement(at, v.typed())
}
