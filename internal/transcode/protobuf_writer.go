package transcode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// Wire types of records. Protocol Buffers, Encoding, "Message Structure".
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireLength  = 2
	wireFixed32 = 5
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
	return c.list && wireOf(c.field.Type) != wireLength && !c.field.Expanded
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
			w.tag(at.declared.Number, wireLength)
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

func (w *protobufWriter) tag(number, wire int) {
	w.dst = binary.AppendUvarint(w.dst, uint64(number)<<3|uint64(wire))
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
	wire := wireOf(at.declared.Type)
	if !w.stack[len(w.stack)-1].packed() {
		w.tag(at.declared.Number, wire)
	}
	n := uint64(v.Int)
	switch at.declared.Type {
	case schema.Bool:
		n = 0
		if v.Bool {
			n = 1
		}
	case schema.Sint32, schema.Sint64: // zigzag. Protocol Buffers, Encoding, "Signed Integers"
		n = uint64(v.Int<<1 ^ v.Int>>63)
	case schema.Float32:
		n = uint64(math.Float32bits(float32(v.Float)))
	case schema.Float64:
		n = math.Float64bits(v.Float)
	}
	switch wire {
	case wireVarint:
		w.dst = binary.AppendUvarint(w.dst, n)
	case wireFixed32:
		w.dst = binary.LittleEndian.AppendUint32(w.dst, uint32(n))
	case wireFixed64:
		w.dst = binary.LittleEndian.AppendUint64(w.dst, n)
	default:
		w.dst = append(binary.AppendUvarint(w.dst, uint64(len(v.Bytes))), v.Bytes...)
	}
	return nil
}

func wireOf(t schema.Type) int {
	switch t {
	case schema.Fixed32, schema.Sfixed32, schema.Float32:
		return wireFixed32
	case schema.Fixed64, schema.Sfixed64, schema.Float64:
		return wireFixed64
	case schema.Bytes, schema.String, schema.Nested:
		return wireLength
	}
	return wireVarint
}

// protobufValue decodes the content of a record as type t.
func protobufValue(raw []byte, t schema.Type) (value, error) {
	var n uint64
	switch wire := wireOf(t); {
	case wire == wireVarint:
		size := 0
		if n, size = binary.Uvarint(raw); size != len(raw) || size <= 0 {
			return value{}, fmt.Errorf("transcode: %d bytes are no %v: %w", len(raw), t, io.ErrUnexpectedEOF)
		}
	case wire == wireFixed32 && len(raw) == 4:
		n = uint64(binary.LittleEndian.Uint32(raw))
	case wire == wireFixed64 && len(raw) == 8:
		n = binary.LittleEndian.Uint64(raw)
	case t == schema.String && !utf8.Valid(raw):
		return value{}, errors.New("transcode: a string that is not UTF-8: say bytes in the schema")
	case t == schema.String:
		return value{Value: field.Value{Kind: field.Text, Bytes: raw}}, nil
	case t == schema.Bytes:
		return value{Value: field.Value{Kind: field.Bytes, Bytes: raw}}, nil
	default:
		return value{}, fmt.Errorf("transcode: %d bytes are no %v", len(raw), t)
	}
	v := field.Value{Kind: field.Int, Int: int64(n)}
	switch t {
	case schema.Bool:
		v = field.Value{Kind: field.Bool, Bool: n != 0}
	case schema.Int32, schema.Sfixed32:
		v.Int = int64(int32(n))
	case schema.Uint32, schema.Fixed32:
		v.Int = int64(uint32(n))
	case schema.Uint64, schema.Fixed64:
		v.Unsigned = n > math.MaxInt64
	case schema.Sint32:
		v.Int = int64(int32(uint32(n)>>1) ^ -int32(n&1))
	case schema.Sint64:
		v.Int = int64(n>>1) ^ -int64(n&1)
	case schema.Float32:
		v = field.Value{Kind: field.Float, Float: float64(math.Float32frombits(uint32(n)))}
	case schema.Float64:
		v = field.Value{Kind: field.Float, Float: math.Float64frombits(n)}
	}
	return value{Value: v, single: t == schema.Float32}, nil
}
