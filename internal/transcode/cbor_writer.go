package transcode

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/internal/cborhead"
)

// Tags for integers of any size. RFC 8949, section 3.4.3.
const (
	tagBignum         = 2
	tagNegativeBignum = 3
)

// cborWriter writes CBOR, RFC 8949, with definite lengths. The number of items is known only at the end of a container,
// so close inserts the container's head.
type cborWriter struct {
	dst   []byte
	stack []cborContainer
	notes *Notes
}

type cborContainer struct {
	major byte
	start int // offset in dst of the container's content
	items int
}

func (w *cborWriter) message() ([]byte, error) { return w.dst, nil }

func (w *cborWriter) open(at location, kind field.Kind) error {
	w.appendKey(at)
	major := byte(cborhead.Map)
	if kind == field.List {
		major = cborhead.Array
	}
	w.stack = append(w.stack, cborContainer{major: major, start: len(w.dst)})
	return nil
}

func (w *cborWriter) close() error {
	top := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	var head [9]byte
	w.dst = slices.Insert(w.dst, top.start, cborhead.Append(head[:0], top.major, uint64(top.items))...)
	return nil
}

// appendKey appends the key of a value in a map. It also counts the item.
func (w *cborWriter) appendKey(at location) {
	if len(w.stack) == 0 {
		return
	}
	in := &w.stack[len(w.stack)-1]
	in.items++
	if in.major == cborhead.Array {
		return
	}
	name := at.name(w.notes)
	w.dst = append(cborhead.Append(w.dst, cborhead.Text, uint64(len(name))), name...)
}

func (w *cborWriter) scalar(at location, v value) error {
	w.appendKey(at)
	switch {
	case v.number != "":
		return w.writeDecimal(v.number)
	case v.Kind == field.Null:
		w.dst = append(w.dst, cborhead.Null)
	case v.Kind == field.Bool && v.Bool:
		w.dst = append(w.dst, cborhead.True)
	case v.Kind == field.Bool:
		w.dst = append(w.dst, cborhead.False)
	case v.Kind == field.Int && v.Int < 0 && !v.Unsigned:
		w.dst = cborhead.Append(w.dst, cborhead.Nint, uint64(-1-v.Int))
	case v.Kind == field.Int:
		w.dst = cborhead.Append(w.dst, cborhead.Uint, uint64(v.Int))
	case v.Kind == field.Float && v.single:
		w.dst = binary.BigEndian.AppendUint32(append(w.dst, cborhead.Float32), math.Float32bits(float32(v.Float)))
	case v.Kind == field.Float:
		w.dst = binary.BigEndian.AppendUint64(append(w.dst, cborhead.Float64), math.Float64bits(v.Float))
	case v.Kind == field.Text:
		w.dst = append(cborhead.Append(w.dst, cborhead.Text, uint64(len(v.Bytes))), v.Bytes...)
	default:
		w.dst = append(cborhead.Append(w.dst, cborhead.Bytes, uint64(len(v.Bytes))), v.Bytes...)
	}
	return nil
}

// maxDigits bounds the integers without a fixed size. The time to convert one grows faster than its length.
const maxDigits = 4096

// writeDecimal writes a number from decimal text. An integer of any size is written as an integer, any other number as a
// float64.
func (w *cborWriter) writeDecimal(text string) error {
	if !isIntegerText(text) {
		return w.writeFloat(text)
	}
	if n, err := strconv.ParseUint(strings.TrimPrefix(text, "-"), 10, 64); err == nil {
		if text[0] == '-' {
			w.dst = cborhead.Append(w.dst, cborhead.Nint, n-1)
		} else {
			w.dst = cborhead.Append(w.dst, cborhead.Uint, n)
		}
		return nil
	}
	if len(text) > maxDigits {
		return errors.New("transcode: an integer of " + strconv.Itoa(len(text)) + " digits: at most " + strconv.Itoa(maxDigits))
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return errors.New("transcode: not a number: " + text)
	}
	tag := uint64(tagBignum)
	if n.Sign() < 0 {
		tag = tagNegativeBignum
		if n.Not(n).IsUint64() { // n.Not(n) is -1-n
			w.dst = cborhead.Append(w.dst, cborhead.Nint, n.Uint64())
			return nil
		}
	}
	w.dst = cborhead.Append(cborhead.Append(w.dst, cborhead.Tag, tag), cborhead.Bytes, uint64(len(n.Bytes())))
	w.dst = append(w.dst, n.Bytes()...)
	return nil
}

func (w *cborWriter) writeFloat(text string) error {
	f, err := parseFloat(text, 64, w.notes)
	if err != nil {
		return err
	}
	w.dst = binary.BigEndian.AppendUint64(append(w.dst, cborhead.Float64), math.Float64bits(f))
	return nil
}
