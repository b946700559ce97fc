package transcode

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format/y3"
)

// maxKey is the largest key of Y3. Y3 SPEC draft-01.
const maxKey = 0x3f

// y3Writer writes packets of tag, length and value.
type y3Writer struct {
	builder      *y3.Builder
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
	w.builder = y3.NewBuilder(w.format.Dialect)
	return w
}

type y3Container struct{ list, started bool }

func (w *y3Writer) message() ([]byte, error) { return w.builder.Message() }

func (w *y3Writer) open(at location, kind field.Kind) error {
	list := kind == field.List
	if len(w.stack) == 0 && list {
		return errors.New("transcode: a list is no " + w.dialect + " message: want a map of keys, as in {\"0x01\": ...}")
	}
	if len(w.stack) > 0 { // the message itself has no tag and no length
		switch key, err := w.key(at); {
		case err != nil:
			return err
		case !list:
			w.builder.Node(key)
		case w.dialect == "y3n":
			return errors.New("transcode: y3n has no lists")
		default:
			w.builder.Slice(key)
		}
	}
	w.stack = append(w.stack, y3Container{list: list})
	return nil
}

func (w *y3Writer) close() error {
	w.stack = w.stack[:len(w.stack)-1]
	if len(w.stack) > 0 {
		w.builder.End()
	}
	return nil
}

func (w *y3Writer) scalar(at location, v value) error {
	if len(w.stack) == 0 {
		return errors.New("transcode: a single value is no " + w.dialect + " message: want a map of keys, as in {\"0x01\": ...}")
	}
	key, err := w.key(at)
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
	w.builder.Bytes(key, raw)
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

// key returns the key of the next value. In a list it is 0.
func (w *y3Writer) key(at location) (int, error) {
	in := &w.stack[len(w.stack)-1]
	first := !in.started
	in.started = true
	if in.list {
		return y3.Item, nil
	}
	n, err := y3Key(at)
	if n == 0 && err == nil && first && len(w.stack) > 1 && w.dialect == "y3" {
		return 0, errors.New("transcode: a y3 node that starts with key 0x00 is a list: give it as one")
	}
	return n, err
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
