package y3

import (
	"errors"
	"fmt"
	"reflect"

	"example.com/ferry/codec"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/y3"
)

// DefaultObserve is the key that a Codec uses if its Observe is 0.
const DefaultObserve = 0x10

const rootKey = 0x01

// maxDepth bounds how deep nodes nest, in encoding and decoding.
const maxDepth = 32

// Codec is a codec.Codec for Y3 messages. The zero value uses dialect P and the key 0x10.
type Codec struct {
	Dialect y3.Dialect
	Observe int // key of the packet in the root node that holds the value; 0 means DefaultObserve
}

var (
	_ codec.Codec    = Codec{}
	_ codec.Appender = Codec{}
	_ codec.Checker  = Codec{}
)

// Name returns "y3" for dialect P and "y3n" for dialect N.
func (c Codec) Name() string { return y3.Format{Dialect: c.Dialect}.Name() }

func (c Codec) observe() int {
	if c.Observe == 0 {
		return DefaultObserve
	}
	return c.Observe
}

// Marshal returns the message that holds v.
func (c Codec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

// Append appends the message that holds v to dst. On an error it returns dst unchanged.
func (c Codec) Append(dst []byte, v any) ([]byte, error) {
	e := encoder{b: y3.AppendBuilder(c.Dialect, dst)}
	e.b.Node(rootKey)
	value := indirect(reflect.ValueOf(v))
	var err error
	switch {
	case !value.IsValid():
		err = fmt.Errorf("y3: cannot write %T: it is nil", v)
	case isSlice(value.Type()) && indirectType(value.Type().Elem()).Kind() == reflect.Struct && c.Dialect == y3.P:
		e.b.Node(c.observe()) // y3-codec-golang omits the slice flag only here
		err = e.items(value, 2)
		e.b.End()
	default:
		err = e.value(c.observe(), value, 2)
	}
	if err != nil {
		return dst, err
	}
	e.b.End()
	return e.b.Message()
}

// Unmarshal validates data strictly, and decodes it into the variable that v points to. A field that data does not have
// keeps its value. A packet without a field in the type is discarded. A message without the root node is an error. So
// is a message without the packet that Observe names.
func (c Codec) Unmarshal(data []byte, v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("y3: cannot read into %T: want a pointer that is not nil", v)
	}
	form := y3.Format{Dialect: c.Dialect}
	if err := form.Validate(data, format.Options{MaxDepth: maxDepth}); err != nil {
		return err
	}
	path, err := field.Parse(fmt.Sprintf("0x%02x.0x%02x", rootKey, c.observe()))
	if err != nil {
		return err
	}
	span, err := form.Lookup(data, path)
	if errors.Is(err, field.ErrNotFound) {
		return fmt.Errorf("y3: message has nothing at %s: %w", path, err)
	}
	if err != nil {
		return err
	}
	return decoder{form: form, data: data}.value(span, target.Elem())
}

// CheckType accepts structs with tags, slices of them, and what fits a primitive packet.
func (Codec) CheckType(t reflect.Type) error {
	if t == nil {
		return errors.New("y3: no type is given")
	}
	return checkType(t, map[reflect.Type]bool{})
}

// checkType checks t unless it is in seen.
func checkType(t reflect.Type, seen map[reflect.Type]bool) error {
	t = indirectType(t)
	if _, ok := scalar(t); ok || seen[t] {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Slice:
		return checkType(t.Elem(), seen)
	case reflect.Struct:
		p, err := planOf(t)
		if err != nil {
			return err
		}
		for _, f := range p.fields {
			if err := checkType(t.Field(f.index).Type, seen); err != nil {
				return fmt.Errorf("%w, in field %v.%s", err, t, f.name)
			}
		}
		return nil
	}
	return fmt.Errorf("y3: type %v cannot be carried: use a struct with tags such as y3:\"0x10\", or choose another codec", t)
}
