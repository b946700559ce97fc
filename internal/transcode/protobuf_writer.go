package transcode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"example.com/ferry/field"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/schema"
)

// protobufWriter writes Protocol Buffers. A list of numbers is packed unless the schema says that it is not. An empty list
// has no bytes. The length of a container is known only at its end, so close inserts the length.
type protobufWriter struct {
	dst   []byte
	stack []protobufContainer
	notes *Notes
}

type protobufContainer struct {
	list  bool
	field *schema.Field // field of a list in the schema
	head  int           // offset in dst of the container's tag
	start int           // offset in dst of the container's content
}

// packed reports whether c is a list with all of its items in one record.
func (c *protobufContainer) packed() bool {
	return c.list && !c.field.Expanded && c.field.Type != schema.Nested && c.field.Type != schema.String && c.field.Type != schema.Bytes
}

func (w *protobufWriter) message() ([]byte, error) { return w.dst, nil }

func (w *protobufWriter) open(at location, kind field.Kind) error {
	c := protobufContainer{list: kind == field.List, field: at.declared, head: len(w.dst)}
	switch {
	case len(w.stack) == 0 && c.list:
		return errors.New("transcode: a list is no protobuf message: want a map of fields")
	case len(w.stack) > 0:
		if err := checkNumber(at); err != nil {
			return err
		}
		if !c.list || c.packed() {
			w.dst = protobuf.AppendTag(w.dst, at.declared.Number, schema.Nested)
		}
	}
	c.start = len(w.dst)
	w.stack = append(w.stack, c)
	return nil
}

func (w *protobufWriter) close() error {
	top := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	switch {
	case top.list && len(w.dst) == top.start:
		w.notes.add("empty lists were left out, as protobuf has no bytes for one")
		w.dst = w.dst[:top.head]
	case len(w.stack) > 0 && (!top.list || top.packed()):
		w.dst = slices.Insert(w.dst, top.start, binary.AppendUvarint(nil, uint64(len(w.dst)-top.start))...)
	}
	return nil
}

// checkNumber returns an error if the value at a location has no field number.
func checkNumber(at location) error {
	switch {
	case at.declared == nil:
		return fmt.Errorf("transcode: the schema has no field %q, so it has no number in protobuf", at.String())
	case at.declared.Number < 1:
		return fmt.Errorf("transcode: the schema's number %d is none of protobuf: want 1 or more", at.declared.Number)
	}
	return nil
}

func (w *protobufWriter) scalar(at location, v value) error {
	if len(w.stack) == 0 {
		return errors.New("transcode: a single value is no protobuf message: want a map of fields")
	}
	if v.Kind == field.Null {
		return errors.New("transcode: protobuf has no null: leave the field out")
	}
	if err := checkNumber(at); err != nil {
		return err
	}
	if !w.stack[len(w.stack)-1].packed() {
		w.dst = protobuf.AppendTag(w.dst, at.declared.Number, at.declared.Type)
	}
	out, err := protobuf.AppendScalar(w.dst, at.declared.Type, v.Value)
	if err == nil {
		w.dst = out
	}
	return err
}
