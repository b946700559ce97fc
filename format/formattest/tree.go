package formattest

import (
	"errors"
	"fmt"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// walkItem is one value that Walk reported.
type walkItem struct {
	step  field.Step
	depth int
	span  field.Span
	path  string // the text of its path
	first bool   // Lookup must find it: no earlier value has its path, and every step can be written
}

var errSpan = errors.New("formattest: Walk reported a span that is not inside its parent, behind its predecessor")

// walk returns the values that Walk reports up to its error.
func walk(f format.Format, data []byte) ([]walkItem, error) {
	var items []walkItem
	var open []walkItem // the containers around the current value
	seen := map[string]bool{}
	end := 0 // end of the last value without content
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

// describe writes items as text, one line each, indented by depth.
func describe(f format.Format, data []byte, items []walkItem) string {
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

// valueText returns a scalar's value as text; "" for a container and for null, whose kind says everything.
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
