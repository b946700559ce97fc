package transcode

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"example.com/ferry/field"
)

// msgpackSingle is the length of an encoded float32 in MessagePack, in bytes.
const msgpackSingle = 5

// msgpackWriter writes MessagePack, each value in its shortest form. The number of items is known only at the end of a
// container, so close inserts the container's head. Specification, section "Formats".
type msgpackWriter struct {
	dst   []byte
	stack []msgpackContainer
	notes *Notes
}

type msgpackContainer struct {
	list  bool
	start int // offset in dst of the container's content
	items int
}

func (w *msgpackWriter) message() ([]byte, error) { return w.dst, nil }

func (w *msgpackWriter) open(at location, kind field.Kind) error {
	err := w.appendKey(at)
	w.stack = append(w.stack, msgpackContainer{list: kind == field.List, start: len(w.dst)})
	return err
}

func (w *msgpackWriter) close() error {
	top := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	fix, wide := byte(0x80), byte(0xde)
	if top.list {
		fix, wide = 0x90, 0xdc
	}
	var head []byte
	switch n := top.items; {
	case n < 16:
		head = []byte{fix | byte(n)}
	case n <= math.MaxUint16:
		head = binary.BigEndian.AppendUint16([]byte{wide}, uint16(n))
	default:
		head = binary.BigEndian.AppendUint32([]byte{wide + 1}, uint32(n))
	}
	w.dst = slices.Insert(w.dst, top.start, head...)
	return nil
}

// appendKey appends the key of a value in a map. It also counts the item.
func (w *msgpackWriter) appendKey(at location) error {
	if len(w.stack) == 0 {
		return nil
	}
	in := &w.stack[len(w.stack)-1]
	in.items++
	if in.list {
		return nil
	}
	return w.writeText(at.name(w.notes))
}

func (w *msgpackWriter) scalar(at location, v value) error {
	if err := w.appendKey(at); err != nil {
		return err
	}
	if v.number != "" {
		var err error
		if v, err = v.to64Bit(w.notes); err != nil {
			return err
		}
	}
	switch {
	case v.Kind == field.Null:
		w.dst = append(w.dst, 0xc0)
	case v.Kind == field.Bool && v.Bool:
		w.dst = append(w.dst, 0xc3)
	case v.Kind == field.Bool:
		w.dst = append(w.dst, 0xc2)
	case v.Kind == field.Int:
		w.writeInteger(v.Value)
	case v.Kind == field.Float && v.single:
		w.dst = binary.BigEndian.AppendUint32(append(w.dst, 0xca), math.Float32bits(float32(v.Float)))
	case v.Kind == field.Float:
		w.dst = binary.BigEndian.AppendUint64(append(w.dst, 0xcb), math.Float64bits(v.Float))
	case v.Kind == field.Text:
		return w.writeText(string(v.Bytes))
	default:
		return w.appendSized(0xc4, v.Bytes)
	}
	return nil
}

func (w *msgpackWriter) writeInteger(v field.Value) {
	n := uint64(v.Int)
	switch {
	case v.Int >= -32 && v.Int < 128 && !v.Unsigned:
		w.dst = append(w.dst, byte(v.Int))
	case v.Int >= math.MinInt8 && v.Int < 0 && !v.Unsigned:
		w.dst = append(w.dst, 0xd0, byte(v.Int))
	case v.Int >= math.MinInt16 && v.Int < 0 && !v.Unsigned:
		w.dst = binary.BigEndian.AppendUint16(append(w.dst, 0xd1), uint16(v.Int))
	case v.Int >= math.MinInt32 && v.Int < 0 && !v.Unsigned:
		w.dst = binary.BigEndian.AppendUint32(append(w.dst, 0xd2), uint32(v.Int))
	case v.Int < 0 && !v.Unsigned:
		w.dst = binary.BigEndian.AppendUint64(append(w.dst, 0xd3), n)
	case n <= math.MaxUint8:
		w.dst = append(w.dst, 0xcc, byte(n))
	case n <= math.MaxUint16:
		w.dst = binary.BigEndian.AppendUint16(append(w.dst, 0xcd), uint16(n))
	case n <= math.MaxUint32:
		w.dst = binary.BigEndian.AppendUint32(append(w.dst, 0xce), uint32(n))
	default:
		w.dst = binary.BigEndian.AppendUint64(append(w.dst, 0xcf), n)
	}
}

func (w *msgpackWriter) writeText(s string) error {
	if len(s) < 32 {
		w.dst = append(append(w.dst, 0xa0|byte(len(s))), s...)
		return nil
	}
	return w.appendSized(0xd9, []byte(s))
}

// appendSized appends a first byte, the length of b, and b. first is the first byte of the form with a one-byte length.
func (w *msgpackWriter) appendSized(first byte, b []byte) error {
	switch n := uint64(len(b)); {
	case n <= math.MaxUint8:
		w.dst = append(w.dst, first, byte(n))
	case n <= math.MaxUint16:
		w.dst = binary.BigEndian.AppendUint16(append(w.dst, first+1), uint16(n))
	case n <= math.MaxUint32:
		w.dst = binary.BigEndian.AppendUint32(append(w.dst, first+2), uint32(n))
	default:
		return errors.New("transcode: a text or byte string of more than 4294967295 bytes has no form in msgpack")
	}
	w.dst = append(w.dst, b...)
	return nil
}

// to64Bit returns v as a 64-bit integer or a float64, for formats without larger numbers. v.number holds the digits.
func (v *value) to64Bit(notes *Notes) (value, error) {
	if !isIntegerText(v.number) {
		return toFloat(*v, 64, notes)
	}
	as := field.Uint64
	if v.number[0] == '-' {
		as = field.Int64
	}
	return toInteger(*v, as)
}
