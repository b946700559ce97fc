package json

import (
	"fmt"
	"io"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Format is JSON. RFC 8259.
type Format struct{}

var (
	_ format.Format  = Format{}
	_ format.Patcher = Format{}
	_ format.Viewer  = Format{}
)

// Name returns "json".
func (Format) Name() string { return "json" }

// Descriptor returns the properties of JSON.
func (Format) Descriptor() format.Descriptor {
	return format.Descriptor{Type: ferry.JSON, Detection: format.DetectFirst}
}

// Lookup returns where the value at p lies in data, as byte offsets. For a text, data[Head:End] begins with the opening
// quote and excludes the closing quote; data[Off:End] excludes both quotes. A step is the unescaped name of a member,
// or the index of an item. Lookup stops at the value and does not validate the values before it. It uses the first of
// duplicate names. It allocates nothing. A missing name gives field.ErrNotFound, data that ends early
// io.ErrUnexpectedEOF, other malformed data *format.SyntaxError.
func (Format) Lookup(data []byte, p field.Path) (field.Span, error) {
	pos := skipSpace(data, 0)
	steps := p.Steps()
	for i := range steps {
		if pos >= len(data) {
			return field.Span{}, io.ErrUnexpectedEOF
		}
		var err error
		switch data[pos] {
		case '{':
			pos, err = enterObject(data, pos+1, &steps[i])
		case '[':
			pos, err = enterList(data, pos+1, steps[i].Index)
		default:
			_, err = spanAt(data, pos)
			if err == nil {
				err = field.ErrNotFound
			}
		}
		if err != nil {
			return field.Span{}, err
		}
	}
	return spanAt(data, pos)
}

func enterObject(data []byte, pos int, st *field.Step) (int, error) {
	var filter field.KeyFilter
	filter.Add(st)
	for start := pos; ; {
		m, err := findMember(data, pos, pos == start, filter.Names)
		if err != nil {
			return 0, err
		}
		if m.value == 0 {
			return 0, field.ErrNotFound
		}
		if m.hasName(data, st.Name) {
			return m.value, nil
		}
		if pos, err = skipValue(data, m.value); err != nil {
			return 0, err
		}
	}
}

func enterList(data []byte, pos, index int) (int, error) {
	if index < 0 {
		return 0, field.ErrNotFound
	}
	for i := 0; ; i++ {
		at, end, err := readSeparator(data, pos, i == 0, ']')
		switch {
		case err != nil:
			return 0, err
		case end:
			return 0, field.ErrNotFound
		case i == index:
			return at, nil
		}
		if pos, err = skipValue(data, at); err != nil {
			return 0, err
		}
	}
}

// Find looks up all paths of s in one pass, which ends once all paths are found. It allocates nothing.
func (Format) Find(data []byte, s *field.Set, spans []field.Span) error {
	if len(spans) < s.Len() {
		return fmt.Errorf("json: room for %d spans where the set has %d paths", len(spans), s.Len())
	}
	for i := range s.Len() {
		spans[i] = field.Span{}
	}
	var f setSearch // set field by field, because the compiler would build a composite literal in a temporary and copy it
	f.data, f.nodes, f.spans = data, s.Nodes(), spans
	_, err := f.searchValue(skipSpace(data, 0), 0, true)
	return err
}
