package schema_test

import (
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

func TestPath(t *testing.T) {
	t.Parallel()
	m := pumps(t)
	for _, c := range []struct {
		path, hex, decimal string
		as                 field.Type
	}{
		{"", "", "", field.AnyType},
		{"noise", "0x10", "16", field.AnyType},
		{"noise.level", "0x10.0x11", "16.17", field.Float32},
		{`noise.unit\.name`, "0x10.0x12", "16.18", field.String},
		{"noise.raw", "0x10.0x13", "16.19", field.AnyType},
		{"noise.raw.7", "0x10.0x13.7", "16.19.7", field.ByteString},
		{"pumps.0.spare.spare.name", "0x20.0.0x12.0x12.0x11", "32.0.18.18.17", field.String},
		{"0x10.level", "0x10.0x11", "16.17", field.Float32},
		{"16.17", "0x10.0x11", "16.17", field.Float32},
		{"noise.0x3f", "0x10.0x3f", "16.0x3f", field.AnyType},
		{"99.1.0x05", "99.1.0x05", "99.1.0x05", field.AnyType},
	} {
		for spelling, want := range map[schema.Spelling]string{schema.Hex: c.hex, schema.Decimal: c.decimal} {
			got, as, err := m.Path(field.MustParse(c.path), spelling)
			if err != nil || got.String() != want || as != c.as {
				t.Errorf("%s: got %v, %v, %v, want %s, %v", c.path, got, as, err, want, c.as)
			}
		}
	}
	if got, as, err := m.Path(field.MustParse("far"), schema.Decimal); err != nil || got.String() != "536870911" || as != field.Int64 {
		t.Errorf("far: got %v, %v, %v", got, as, err)
	}
}

func TestPathErrors(t *testing.T) {
	t.Parallel()
	m := pumps(t)
	for _, c := range []struct{ path, want string }{
		{"niose", `the message has no field "niose": is it noise?`},
		{"NOISE", `has no field "NOISE": is it noise?`},
		{"voltage", `the message has no field "voltage": it has noise, pumps, far`},
		{"noise.lvel", `noise has no field "lvel": is it level?`},
		{"noise.level.x", `noise.level is a float32, which holds no "x": end the path there`},
		{"noise.level.0", `noise.level is a float32, which holds no "0"`},
		{"pumps.name", `pumps is a list of Pump: name an item of it by its index before "name"`},
		{"pumps.0x11", `pumps is a list of Pump: name an item`},
		{"0x05.level", `0x05 is not in the schema, so it is not known what "level" within it is`},
		{"far", `far has the number 536870911, which is no Y3 key: at most 0x3f`},
	} {
		if got, as, err := m.Path(field.MustParse(c.path), schema.Hex); err == nil || !strings.Contains(err.Error(), "schema: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, %v, want an error with %q", c.path, got, as, err, c.want)
		}
	}
	wide := &schema.Message{}
	for _, name := range strings.Fields("aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii") {
		wide.Fields = append(wide.Fields, schema.Field{Name: name})
	}
	if _, _, err := wide.Path(field.MustParse("zzzz"), schema.Hex); err == nil || !strings.HasSuffix(err.Error(), "gggg, hhhh, more") {
		t.Errorf("nine fields: got %v, want eight and more", err)
	}
	if _, _, err := new(schema.Message).Path(field.MustParse("a"), schema.Hex); err == nil || !strings.HasSuffix(err.Error(), "it has none") {
		t.Errorf("no fields: got %v", err)
	}
}

// TestFieldAtPath finds a field by the keys and numbers that Walk reports, and by the names of a path.
func TestFieldAtPath(t *testing.T) {
	t.Parallel()
	m := pumps(t)
	for _, c := range []struct{ path, want string }{
		{"", "message"}, {"noise", "noise"}, {"0x10.17", "float32"}, {"pumps", "list of Pump"}, {"32.1", "Pump"}, {"pumps.1.spare.name", "string"},
	} {
		if f, ok := m.At(field.MustParse(c.path)); !ok || f.String() != c.want {
			t.Errorf("%q: got %v, %v, want %s", c.path, &f, ok, c.want)
		}
	}
	for _, path := range []string{"x", "noise.level.x", "pumps.name", "0x11"} {
		if f, ok := m.At(field.MustParse(path)); ok {
			t.Errorf("%q: got %v, want nothing", path, &f)
		}
	}
}

func TestPredicate(t *testing.T) {
	t.Parallel()
	m := pumps(t)
	got, err := m.Predicate(field.MustParsePredicate(`noise.level > 30 && exists(pumps) || float64(noise.level) == 1`), schema.Hex)
	if err == nil || !strings.Contains(err.Error(), "is read as float32 and as float64") {
		t.Errorf("two casts: got %v, %v, want an error", got, err)
	}
	got, err = m.Predicate(field.MustParsePredicate(`noise.level > 30 && exists(pumps) || float64(0x05) == 1`), schema.Hex)
	if want := `float32(0x10.0x11) > 30 && exists(0x20) || float64(0x05) == 1`; err != nil || got.String() != want {
		t.Errorf("got %v, %v, want %s", got, err, want)
	}
	for _, text := range []string{`far > 1`, `exists(pumps)`, `prefix(pumps.0.name, "p")`} {
		if got, err = m.Predicate(field.MustParsePredicate(text), schema.Decimal); err == nil || !strings.Contains(err.Error(), "which cannot be tested without the schema") {
			t.Errorf("%s in protobuf: got %v, %v, want an error", text, got, err)
		}
	}
	got, err = m.Predicate(field.MustParsePredicate(`noise.level > 30 && exists(99.1)`), schema.Decimal)
	if want := `float32(16.17) > 30 && exists(99.1)`; err != nil || got.String() != want {
		t.Errorf("got %v, %v, want %s", got, err, want)
	}
	if got, err = m.Predicate(field.MustParsePredicate(`noise.lvel > 30`), schema.Decimal); err == nil || !strings.Contains(err.Error(), "is it level?") {
		t.Errorf("unknown name: got %v, %v", got, err)
	}
}
