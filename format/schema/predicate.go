package schema

import "example.com/ferry/field"

// Predicate returns p with numbers for names, and with a cast to the schema's type where p has none: of
// `noise.level > 30` it makes `float32(0x10.0x11) > 30`. It fails as Path does.
func (m *Message) Predicate(p *field.Predicate, s Spelling) (*field.Predicate, error) {
	return p.Rename(func(path field.Path) (field.Path, field.Type, error) { return m.Path(path, s) })
}
