package y3

import (
	"fmt"
	"reflect"
	"unicode/utf8"

	"example.com/ferry/field"
	"example.com/ferry/format/y3"
)

type encoder struct{ b *y3.Builder }

// value writes v under key. v is neither nil nor a pointer. depth is one more than the number of nodes around the
// packet of v.
func (e encoder) value(key int, v reflect.Value, depth int) error {
	if as, ok := scalar(v.Type()); ok {
		return e.scalar(key, v, as)
	}
	if depth > maxDepth {
		return fmt.Errorf("y3: %v nests deeper than %d nodes: is it a ring of pointers?", v.Type(), maxDepth)
	}
	switch v.Kind() {
	case reflect.Struct:
		e.b.Node(key)
		defer e.b.End()
		return e.fields(v, depth)
	case reflect.Slice:
		e.b.Slice(key)
		defer e.b.End()
		return e.items(v, depth)
	}
	return fmt.Errorf("y3: cannot write %v", v.Type())
}

func (e encoder) fields(v reflect.Value, depth int) error {
	p, err := planOf(v.Type())
	if err != nil {
		return err
	}
	for _, f := range p.fields {
		inner := indirect(v.Field(f.index))
		if !inner.IsValid() || inner.Kind() == reflect.Slice && inner.IsNil() {
			continue
		}
		if err := e.value(f.key, inner, depth+1); err != nil {
			return fmt.Errorf("%w, in field %v.%s", err, v.Type(), f.name)
		}
	}
	return nil
}

func (e encoder) items(v reflect.Value, depth int) error {
	for i := range v.Len() {
		inner := indirect(v.Index(i))
		if !inner.IsValid() {
			return fmt.Errorf("y3: cannot write item %d of %v: it is nil", i, v.Type())
		}
		if err := e.value(y3.Item, inner, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (e encoder) scalar(key int, v reflect.Value, as field.Type) error {
	switch as {
	case field.Boolean:
		e.b.Bool(key, v.Bool())
	case field.Int32:
		e.b.Int32(key, int32(v.Int()))
	case field.Int64:
		e.b.Int64(key, v.Int())
	case field.Uint32:
		e.b.Uint32(key, uint32(v.Uint()))
	case field.Uint64:
		e.b.Uint64(key, v.Uint())
	case field.Float32:
		e.b.Float32(key, float32(v.Float()))
	case field.Float64:
		e.b.Float64(key, v.Float())
	case field.ByteString:
		e.b.Bytes(key, v.Bytes())
	case field.String:
		if !utf8.ValidString(v.String()) {
			return fmt.Errorf("y3: %v %.20q is not UTF-8: use []byte", v.Type(), v.String())
		}
		e.b.String(key, v.String())
	}
	return nil
}
