package y3

import (
	"bytes"
	"fmt"
	"reflect"

	"example.com/ferry/field"
	"example.com/ferry/format/y3"
)

// decoder decodes data, which was validated.
type decoder struct {
	form y3.Format
	data []byte
}

func (d decoder) value(s field.Span, target reflect.Value) error {
	if target.Kind() == reflect.Pointer {
		if target.IsNil() {
			target.Set(reflect.New(target.Type().Elem()))
		}
		return d.value(s, target.Elem())
	}
	if as, ok := scalar(target.Type()); ok {
		v, err := d.form.Value(d.data, s, as)
		if err != nil {
			return err
		}
		return set(target, v)
	}
	switch {
	case target.Kind() != reflect.Struct && target.Kind() != reflect.Slice:
		return fmt.Errorf("y3: cannot read into %v", target.Type())
	case s.Kind == field.Untyped:
		return fmt.Errorf("y3: primitive packet at offset %d cannot be read into %v", s.Head, target.Type())
	case target.Kind() == reflect.Slice && s.Kind != field.List && s.Off < s.End, target.Kind() == reflect.Struct && s.Kind == field.List:
		return fmt.Errorf("y3: %v at offset %d cannot be read into %v", s.Kind, s.Head, target.Type())
	case target.Kind() == reflect.Slice:
		return d.items(s, target)
	}
	return d.fields(s, target)
}

func (d decoder) fields(s field.Span, target reflect.Value) error {
	p, err := planOf(target.Type())
	if err != nil {
		return err
	}
	return d.packets(s, func(packet y3.Packet, span field.Span) error {
		for _, f := range p.fields {
			if f.key != packet.Key() {
				continue
			}
			if err := d.value(span, target.Field(f.index)); err != nil {
				return fmt.Errorf("%w, in field %v.%s", err, target.Type(), f.name)
			}
		}
		return nil
	})
}

func (d decoder) items(s field.Span, target reflect.Value) error {
	items := reflect.MakeSlice(target.Type(), 0, 0)
	err := d.packets(s, func(_ y3.Packet, span field.Span) error {
		items = reflect.Append(items, reflect.Zero(target.Type().Elem()))
		return d.value(span, items.Index(items.Len()-1))
	})
	target.Set(items)
	return err
}

func (d decoder) packets(s field.Span, visit func(y3.Packet, field.Span) error) error {
	for pos := s.Off; pos < s.End; {
		p, err := y3.Next(d.data, pos, s.End)
		if err != nil {
			return err
		}
		if err := visit(p, d.form.Span(d.data, p)); err != nil {
			return err
		}
		pos = p.End
	}
	return nil
}

// set copies v into target. v has the type that scalar returned for target. A number out of target's range is an error.
func set(target reflect.Value, v field.Value) error {
	switch target.Kind() {
	case reflect.Bool:
		target.SetBool(v.Bool)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if target.OverflowInt(v.Int) {
			return fmt.Errorf("y3: %d is out of range of %v", v.Int, target.Type())
		}
		target.SetInt(v.Int)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if target.OverflowUint(uint64(v.Int)) {
			return fmt.Errorf("y3: %d is out of range of %v", uint64(v.Int), target.Type())
		}
		target.SetUint(uint64(v.Int))
	case reflect.Float32, reflect.Float64:
		target.SetFloat(v.Float)
	case reflect.String:
		target.SetString(string(v.Bytes))
	default:
		target.SetBytes(bytes.Clone(v.Bytes))
	}
	return nil
}
