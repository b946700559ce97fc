package transcode

import (
	"encoding/binary"
	"math"
	"slices"

	"example.com/ferry/field"
)

// countedWriter writes a format whose containers begin with the number of their items: CBOR or MessagePack. The number is known only at the
// end of a container, so close inserts the container's head.
type countedWriter struct {
	dst   []byte
	stack []countedContainer
	notes *Notes

	appendHead   func(dst []byte, kind field.Kind, items uint64) []byte
	appendScalar func(dst []byte, v *field.Value) ([]byte, error)
	float32Byte  byte // the first byte of a float32
	decimal      bool // the format is CBOR, which has integers of any size
}

type countedContainer struct {
	kind  field.Kind
	start int // offset in dst of the container's content
	items uint64
}

func (w *countedWriter) message() ([]byte, error) { return w.dst, nil }

func (w *countedWriter) open(at location, kind field.Kind) error {
	err := w.appendKey(at)
	w.stack = append(w.stack, countedContainer{kind: kind, start: len(w.dst)})
	return err
}

func (w *countedWriter) close() error {
	top := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	w.dst = slices.Insert(w.dst, top.start, w.appendHead(nil, top.kind, top.items)...)
	return nil
}

// appendKey appends the key of a value in a map. It also counts the item.
func (w *countedWriter) appendKey(at location) error {
	if len(w.stack) == 0 {
		return nil
	}
	in := &w.stack[len(w.stack)-1]
	in.items++
	if in.kind == field.List {
		return nil
	}
	return w.append(&field.Value{Kind: field.Text, Bytes: []byte(at.name(w.notes))})
}

func (w *countedWriter) scalar(at location, v value) error {
	if err := w.appendKey(at); err != nil {
		return err
	}
	if v.number != "" {
		if w.decimal && isIntegerText(v.number) {
			out, err := appendBignum(w.dst, v.number)
			w.dst = out
			return err
		}
		var err error
		if v, err = v.to64Bit(w.notes); err != nil {
			return err
		}
	}
	if v.single {
		w.dst = binary.BigEndian.AppendUint32(append(w.dst, w.float32Byte), math.Float32bits(float32(v.Float)))
		return nil
	}
	return w.append(v.typed())
}

func (w *countedWriter) append(v *field.Value) error {
	out, err := w.appendScalar(w.dst, v)
	if err == nil {
		w.dst = out
	}
	return err
}
