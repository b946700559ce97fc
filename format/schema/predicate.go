package schema

import (
	"fmt"

	"example.com/ferry/field"
)

// Predicate returns p with numbers for names, and with a cast to the schema's type where p has none: of
// `noise.level > 30` it makes `float32(0x10.0x11) > 30`. That is for whoever tests messages without the schema, as a node
// does; a format that has the schema takes p as it is. It fails as Path does, and for what protobuf shows only to those
// who have the schema: lists, and the zigzag of sint32 and sint64.
func (m *Message) Predicate(p *field.Predicate, s Spelling) (*field.Predicate, error) {
	return p.Rename(func(path field.Path) (field.Path, field.Type, error) {
		numbers, as, err := m.Path(path, s)
		if err == nil && s == Decimal {
			err = m.plain(path)
		}
		return numbers, as, err
	})
}

// plain refuses a path whose value in protobuf cannot be read without a schema.
func (m *Message) plain(p field.Path) error {
	at := m.Root()
	for i, step := range p.Steps() {
		next, ok := at.Child(step)
		if !ok {
			return nil
		}
		if at = next; at.Repeated || at.Type == Sint32 || at.Type == Sint64 {
			return fmt.Errorf("schema: %s is a %v, which nobody can test without the schema: test another field", before(p, i+1), &at)
		}
	}
	return nil
}
