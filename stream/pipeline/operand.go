package pipeline

import (
	"fmt"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// operand is a value of a message that a step reads: a path, with a cast where the bytes carry no type, or the tag.
type operand struct {
	path field.Path
	as   field.Type
	tag  bool // the message's tag
}

// tagOperand is the operand that stands for the tag.
const tagOperand = "@tag"

// parseOperand parses PATH, CAST(PATH) or @tag.
func parseOperand(s string) (operand, error) {
	if s == tagOperand {
		return operand{tag: true}, nil
	}
	text, as := s, field.AnyType
	if name, rest, ok := strings.Cut(s, "("); ok && strings.HasSuffix(rest, ")") {
		if t, known := field.ParseType(name); known && t != field.AnyType {
			text, as = rest[:len(rest)-1], t
		}
	}
	if text == "" {
		return operand{}, fmt.Errorf("the path is empty: name a field such as readings.0.value")
	}
	path, err := field.Parse(text)
	return operand{path: path, as: as}, err
}

// name returns the name of the operand's field in a record: the last step of the path.
func (o operand) name() string {
	if o.tag {
		return "tag"
	}
	steps := o.path.Steps()
	return steps[len(steps)-1].Name
}

// reader reads operands of messages. Its calls must not overlap.
type reader struct {
	operands []operand
	index    []int // of each operand in the set; -1 for the tag
	set      *field.Set
	spans    []field.Span
	values   []field.Value // of the last message
	tag      []byte
}

func newReader(operands []operand) (*reader, error) {
	r := &reader{operands: operands, values: make([]field.Value, len(operands))}
	known := map[string]int{}
	var paths []field.Path
	for _, o := range operands {
		if o.tag {
			r.index = append(r.index, -1)
			continue
		}
		text := o.path.String()
		if _, ok := known[text]; !ok {
			known[text] = len(paths)
			paths = append(paths, o.path)
		}
		r.index = append(r.index, known[text])
	}
	var err error
	r.set, err = field.NewSet(paths...)
	r.spans = make([]field.Span, len(paths))
	return r, err
}

// read stores the values of m in r.values. A value that m lacks, or that is not a scalar, has the Kind Missing. The values are
// views into m.
func (r *reader) read(f format.Format, m *message) {
	readable := false
	if len(r.spans) > 0 && f != nil {
		readable = f.Find(m.payload, r.set, r.spans) == nil
	}
	for i, at := range r.index {
		v := &r.values[i]
		switch {
		case at < 0:
			r.tag = append(r.tag[:0], m.tag...)
			*v = field.Value{Kind: field.Text, Bytes: r.tag}
		case !readable || !r.spans[at].Found():
			*v = field.Value{}
		default:
			var err error
			if *v, err = f.Value(m.payload, r.spans[at], r.operands[i].as); err != nil || !scalar(v.Kind) {
				*v = field.Value{}
			}
		}
	}
}

func scalar(k field.Kind) bool {
	return k == field.Null || k == field.Bool || k == field.Int || k == field.Float || k == field.Text || k == field.Bytes
}
