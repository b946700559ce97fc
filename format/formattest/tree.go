package formattest

import (
	"errors"
	"fmt"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// walkItem is one value that Walk has reported.
type walkItem struct {
	step  field.Step
	depth int
	span  field.Span
	path  string // text of the path to the value
	first bool   // Lookup must find the value: no earlier value has the same path, and a path can express every step
}

var errSpan = errors.New("formattest: Walk reported a span that is not inside its parent, behind its predecessor")

// walk returns the values that Walk reports. After an error of Walk, it returns the values before the error.
func walk(f format.Format, data []byte) ([]walkItem, error) {
	var items []walkItem
	var open []walkItem // containers around the current value
	seen := map[string]bool{}
	end := 0 // end of the last scalar, or start of the content of the last container
	err := f.Walk(data, func(step field.Step, depth int, s field.Span) error {
		it := walkItem{step: step, depth: depth, span: s, first: depth == 0}
		if s.Head < 0 || s.Head > s.Off || s.Off > s.End || s.End > len(data) || s.Kind == field.Missing || depth > len(open) {
			return fmt.Errorf("%w: %+v at depth %d", errSpan, s, depth)
		}
		open = open[:depth]
		if depth > 0 {
			parent := open[depth-1]
			if s.Head < parent.span.Off || s.End > parent.span.End || s.Head < end {
				return fmt.Errorf("%w: %+v in %+v", errSpan, s, parent.span)
			}
			text := step.String()
			it.path = text
			if parent.depth > 0 {
				it.path = parent.path + "." + text
			}
			it.first = parent.first && text != "" && depth <= field.MaxSteps && !seen[it.path]
			if parent.first {
				seen[it.path] = true
			}
		}
		if end = s.End; s.Kind == field.List || s.Kind == field.Map {
			end = s.Off
		}
		open = append(open, it)
		items = append(items, it)
		return nil
	})
	return items, err
}

// describeItems returns items as text. Each item is a line, indented by its depth.
func describeItems(f format.Format, data []byte, items []walkItem) string {
	var b strings.Builder
	for _, it := range items {
		b.WriteString(strings.Repeat("  ", it.depth))
		if it.depth > 0 {
			b.WriteString(it.step.String() + " ")
		}
		b.WriteString(it.span.Kind.String())
		if text := valueText(f, data, it.span); text != "" {
			b.WriteString(" " + text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// valueText returns a scalar's value as text. It returns "" for a container and for null, because their kind says
// everything.
func valueText(f format.Format, data []byte, s field.Span) string {
	if s.Kind == field.List || s.Kind == field.Map || s.Kind == field.Null {
		return ""
	}
	v, err := f.Value(data, s, field.AnyType)
	switch {
	case err != nil:
		return fmt.Sprintf("(% x)", data[s.Head:s.End])
	case v.Kind == field.Bool:
		return fmt.Sprint(v.Bool)
	case v.Kind == field.Int && v.Unsigned:
		return fmt.Sprint(uint64(v.Int))
	case v.Kind == field.Int:
		return fmt.Sprint(v.Int)
	case v.Kind == field.Float:
		return fmt.Sprint(v.Float)
	case v.Kind == field.Text:
		return fmt.Sprintf("%q", v.Bytes)
	}
	return fmt.Sprintf("% x", v.Bytes)
}
