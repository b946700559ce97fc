package protobuf

import (
	"errors"
	"fmt"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

const pumpText = `name: "pump-1" level: -7 state: ON
  spare { name: "pump-2" level: 300 }
  parts { id: 1 } parts { id: 18446744073709551615 }
  labels { key: "floor" value: 3 } labels { key: "hall" value: 4294967295 }
  unit { symbol: "bar" } samples: 0.5 samples: -2`

// TestNames looks up fields of a message that the library encoded, by names and by numbers.
func TestNames(t *testing.T) {
	_, set := plantSet(t)
	m, err := ParseDescriptorSet(set, "plant.Pump")
	if err != nil {
		t.Fatal(err)
	}
	f := Format{m}
	data := pumpMessage(t, pumpText)
	if err := f.Validate(data, format.Options{}); err != nil {
		t.Fatal(err)
	}
	rows := []struct{ path, want string }{
		{"name", "text pump-1"},
		{"1", "text pump-1"},
		{"level", "integer -7"},
		{"state", "integer 1"},
		{"spare.name", "text pump-2"},
		{"4.2", "integer 300"},
		{"spare.spare.level", "nothing"},
		{"parts.0.id", "integer 1"},
		{"parts.1.id", "integer 18446744073709551615"},
		{"5.1.1", "integer 18446744073709551615"},
		{"parts.2.id", "nothing"},
		{"parts.id", "nothing"},
		{"labels.1.key", "text hall"},
		{"labels.1.value", "integer 4294967295"},
		{"unit.symbol", "text bar"},
		{"unit.symbol.1", "nothing"},
		{"samples.1", "float -2"},
		{"536870911.0", "float 0.5"},
		{"samples.2", "nothing"},
		{"volume", "nothing"},
		{"8", "nothing"},
	}
	var paths []field.Path
	for _, row := range rows {
		paths = append(paths, field.MustParse(row.path))
	}
	all, err := field.NewSet(paths...)
	if err != nil {
		t.Fatal(err)
	}
	spans := make([]field.Span, all.Len())
	if err := f.Find(data, all, spans); err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		s, err := f.Lookup(data, paths[i])
		if err != nil && !errors.Is(err, field.ErrNotFound) || s != spans[i] {
			t.Errorf("Lookup(%q): got %+v, %v, Find has %+v", row.path, s, err, spans[i])
		}
		if got := read(f, data, s, field.AnyType); got != row.want {
			t.Errorf("%s: got %q, want %q", row.path, got, row.want)
		}
	}
}

// read returns a text that describes the scalar at s.
func read(f Format, data []byte, s field.Span, as field.Type) string {
	if !s.Found() {
		return s.Kind.String()
	}
	v, err := f.Value(data, s, as)
	if err != nil {
		return err.Error()
	}
	var content any
	switch {
	case v.Kind == field.Text:
		content = string(v.Bytes)
	case v.Kind == field.Int && v.Unsigned:
		content = uint64(v.Int)
	case v.Kind == field.Int:
		content = v.Int
	case v.Kind == field.Float:
		content = v.Float
	case v.Kind == field.Bool:
		content = v.Bool
	default:
		return fmt.Sprintf("%v % x", v.Kind, v.Bytes)
	}
	return fmt.Sprintf("%v %v", v.Kind, content)
}
