package schema

import (
	"fmt"

	"example.com/ferry/field"
)

// Predicate returns p with names replaced by numbers. Where p has no cast, Predicate adds a cast to the schema's type:
// `noise.level > 30` becomes `float32(0x10.0x11) > 30`. Use the result in a program that tests messages without the
// schema, such as a node. A format that has the schema accepts p itself. The errors are those of Path. A protobuf value
// that cannot be read without the schema is an error, too: a list, a sint32 or a sint64.
func (m *Message) Predicate(p *field.Predicate, s Spelling) (*field.Predicate, error) {
	return p.Rename(func(path field.Path) (field.Path, field.Type, error) {
		numbers, as, err := m.Path(path, s)
		if err == nil && s == Decimal {
			err = m.checkReadableWithoutSchema(path)
		}
		return numbers, as, err
	})
}

// checkReadableWithoutSchema refuses a path to a protobuf value that cannot be read without a schema.
func (m *Message) checkReadableWithoutSchema(p field.Path) error {
	at := m.Root()
	for i, step := range p.Steps() {
		next, ok := at.Child(step)
		if !ok {
			return nil
		}
		if at = next; at.Repeated || at.Type == Sint32 || at.Type == Sint64 {
			return fmt.Errorf("schema: %s is a %v, which cannot be tested without the schema: test another field", pathPrefix(p, i+1), &at)
		}
	}
	return nil
}
