package transcode

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format/y3"
)

// Parts of a Y3 tag byte. The low six bits are the key. Y3 SPEC draft-01.
const (
	y3Node = 0x80
	y3List = 0x40
	maxKey = 0x3f
)

// y3Writer writes packets of tag, length and value. The length of a node is known only at its end, so close inserts the
// length.
type y3Writer struct {
	dst          []byte
	stack        []y3Container
	format       y3.Format
	dialect      string
	otherDialect bool // the source is the other dialect, which encodes integers differently
}

func newY3Writer(dialect string, otherDialect bool) *y3Writer {
	w := &y3Writer{dialect: dialect, otherDialect: otherDialect}
	if dialect == "y3n" {
		w.format.Dialect = y3.N
	}
	return w
}

type y3Container struct {
	list  bool
	start int // offset in dst of the container's content
}

func (w *y3Writer) message() ([]byte, error) { return w.dst, nil }

func (w *y3Writer) open(at location, kind field.Kind) error {
	list := kind == field.List
	if len(w.stack) > 0 {
		tag, err := w.tag(at)
		if err != nil {
			return err
		}
		tag |= y3Node
		if list {
			tag |= y3List
		}
		w.dst = append(w.dst, tag)
	}
	switch {
	case list && len(w.stack) == 0:
		return errors.New("transcode: a list is no " + w.dialect + " message: want a map of keys, as in {\"0x01\": ...}")
	case list && w.dialect == "y3n":
		return errors.New("transcode: y3n has no lists")
	}
	w.stack = append(w.stack, y3Container{list: list, start: len(w.dst)})
	return nil
}

func (w *y3Writer) close() error {
	top := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	if len(w.stack) > 0 { // the message itself has no tag and no length
		w.dst = slices.Insert(w.dst, top.start, appendLength(nil, len(w.dst)-top.start)...)
	}
	return nil
}

func (w *y3Writer) scalar(at location, v value) error {
	if len(w.stack) == 0 {
		return errors.New("transcode: a single value is no " + w.dialect + " message: want a map of keys, as in {\"0x01\": ...}")
	}
	tag, err := w.tag(at)
	if err != nil {
		return err
	}
	raw := v.Bytes
	switch {
	case v.Kind == field.Null:
		return fmt.Errorf("transcode: %s has no null: leave the field out", w.dialect)
	case at.declared != nil:
		cast, err := w.format.Cast(v.Value, at.declared.Type.Field())
		if err != nil {
			return err
		}
		raw = cast.Bytes
	case v.Kind == field.Untyped && w.otherDialect && !w.sameInBoth(raw):
		return fmt.Errorf("transcode: if this value is an integer, %s writes it differently: give it a type in a schema", w.dialect)
	case v.Kind == field.Bytes || v.Kind == field.Untyped:
	case v.Kind == field.Text:
		if raw, err = hex.DecodeString(string(v.Bytes)); err != nil {
			return fmt.Errorf("transcode: %q is not hex: %s carries no types, so give the bytes of the value", v.Bytes, w.dialect)
		}
	default:
		return fmt.Errorf("transcode: %v has no one form in %s, which carries no types: give the bytes of the value as hex text", v.Kind, w.dialect)
	}
	w.dst = append(appendLength(append(w.dst, tag), len(raw)), raw...)
	return nil
}

// sameInBoth reports whether a value of the other dialect has the same bytes in this one, whatever its type. The dialects differ in
// integers only.
func (w *y3Writer) sameInBoth(raw []byte) bool {
	other := y3.Format{Dialect: y3.N}
	if w.format.Dialect == y3.N {
		other.Dialect = y3.P
	}
	n, err := other.Value(raw, field.Span{End: len(raw), Kind: field.Untyped}, field.Int64)
	if err != nil {
		return true // it is no integer
	}
	here, err := w.format.Cast(n, field.Int64)
	return err == nil && bytes.Equal(here.Bytes, raw)
}

// tag returns the tag of a value without flags. In a list the tag is 0, otherwise it is the value's key.
func (w *y3Writer) tag(at location) (byte, error) {
	in := w.stack[len(w.stack)-1]
	if in.list {
		return 0, nil
	}
	n, err := y3Key(at)
	if err != nil {
		return 0, err
	}
	if n == 0 && len(w.stack) > 1 && len(w.dst) == in.start && w.dialect == "y3" {
		return 0, errors.New("transcode: a y3 node that starts with key 0x00 is a list: give it as one")
	}
	return byte(n), nil
}

// y3Key returns the key of a value. The key is the number in the schema, the key in the source, or the name as hex.
func y3Key(at location) (int, error) {
	if at.declared != nil {
		if at.declared.Number > maxKey {
			return 0, fmt.Errorf("transcode: the schema's number %d is no y3 key: want 0x00 to 0x3f", at.declared.Number)
		}
		return at.declared.Number, nil
	}
	if at.Key >= 0 {
		return at.Key, nil
	}
	digits, ok := strings.CutPrefix(at.Name, "0x")
	n, err := strconv.ParseUint(digits, 16, 6)
	if !ok || err != nil {
		return 0, fmt.Errorf("transcode: %q is no y3 key: want 0x00 to 0x3f, or a schema that has the name", at.Name)
	}
	if at.parent != nil {
		if known, ok := at.parent.Child(field.Step{Index: -1, Key: int(n)}); ok {
			return 0, fmt.Errorf("transcode: the schema's name for %q is %q: use that", at.Name, known.Name)
		}
	}
	return int(n), nil
}

// appendLength appends n as a PVarInt32: groups of seven bits, the most significant first. The first group is signed.
func appendLength(dst []byte, n int) []byte {
	groups := 1
	for n>>(7*groups-1) > 0 {
		groups++
	}
	for ; groups > 1; groups-- {
		dst = append(dst, 0x80|byte(n>>(7*(groups-1)))&0x7f)
	}
	return append(dst, byte(n)&0x7f)
}
