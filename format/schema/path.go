package schema

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/ferry/field"
)

// Spelling selects how a path writes field numbers.
type Spelling uint8

const (
	Decimal Spelling = iota // 5.1, for protobuf field numbers
	Hex                     // 0x10.0x11, for Y3 keys
)

// maxKey is the largest Y3 key, because a key is the low six bits of a tag. Y3 SPEC draft-01.
const maxKey = 0x3f

// Path returns p with names replaced by numbers, and the type of the value. The type is AnyType for a list, a message,
// or a field that the schema does not have. Indices and numbers in p stay as they are, even unknown ones. An unknown
// name gives an error that lists similar names. For some protobuf values, the new path needs a format with the schema:
// without it, no format can read lists, or the zigzag encoding of sint32 and sint64.
func (m *Message) Path(p field.Path, s Spelling) (field.Path, field.Type, error) {
	at, known := m.Root(), true
	steps := make([]string, p.Len())
	for i, step := range p.Steps() {
		steps[i] = step.String()
		isNumber := step.Key >= 0 || step.Index >= 0
		next, ok := Field{}, false
		if known {
			next, ok = at.Child(step)
		}
		switch {
		case ok && !at.Repeated:
			if s == Hex && next.Number > maxKey {
				return field.Path{}, field.AnyType, fmt.Errorf("schema: %s has the number %d, which is no Y3 key: at most 0x%02x", pathPrefix(p, i+1), next.Number, maxKey)
			}
			steps[i] = s.formatNumber(next.Number)
		case ok:
		case !known && !isNumber:
			return field.Path{}, field.AnyType, fmt.Errorf("schema: %s is not in the schema, so it is not known what %q within it is: give its number", pathPrefix(p, i), step.Name)
		case known && (at.Type != Nested || at.Repeated || !isNumber):
			return field.Path{}, field.AnyType, at.missingFieldError(pathPrefix(p, i), step.Name)
		}
		at, known = next, ok
	}
	numbers, err := field.Parse(strings.Join(steps, "."))
	if !known || at.Repeated {
		return numbers, field.AnyType, err
	}
	return numbers, at.Type.Field(), err
}

// At returns the field at p. Steps may be names or numbers. If the schema does not have the field, At returns false.
func (m *Message) At(p field.Path) (Field, bool) {
	at := m.Root()
	for _, step := range p.Steps() {
		next, ok := at.Child(step)
		if !ok {
			return Field{}, false
		}
		at = next
	}
	return at, true
}

func (s Spelling) formatNumber(n int) string {
	if s == Hex {
		return fmt.Sprintf("0x%02x", n)
	}
	return strconv.Itoa(n)
}

// pathPrefix returns the first n steps of p as text for an error message.
func pathPrefix(p field.Path, n int) string {
	if n == 0 {
		return "the message"
	}
	steps := make([]string, n)
	for i, step := range p.Steps()[:n] {
		steps[i] = step.String()
	}
	return strings.Join(steps, ".")
}

// missingFieldError returns the error for a name that f does not have. path is the path of f.
func (f *Field) missingFieldError(path, name string) error {
	switch {
	case f.Repeated:
		return fmt.Errorf("schema: %s is a %v: name an item of it by its index before %q", path, f, name)
	case f.Type != Nested:
		return fmt.Errorf("schema: %s is a %v, which holds no %q: end the path there", path, f, name)
	}
	return fmt.Errorf("schema: %s has no field %q: %s", path, name, f.Message.suggestNames(name))
}
