package json

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// maxNesting bounds the recursion of Walk and Validate, whatever Options.MaxDepth is.
const maxNesting = 256

// Walk calls visit for each value in order. It reads data twice: once to find the ends of all containers, 16 bytes of
// memory each, and once to visit them. More than 256 levels are refused.
func (Format) Walk(data []byte, visit format.Visit) error {
	w := walker{data: data, visit: visit, containers: findContainers(data)}
	_, err := w.visitValue(skipSpace(data, 0), 0, field.Step{Index: -1, Key: -1})
	return err
}

type walker struct {
	data       []byte
	visit      format.Visit
	containers []extent // those that begin at the next value or behind it
}

// extent is the offset of a container and of the byte after it.
type extent struct{ start, end int }

// findContainers returns the extents of all containers in order. It returns nil if data ends in a container.
func findContainers(data []byte) []extent {
	var all []extent
	var open []int // indices in all
	for pos := 0; pos < len(data); pos++ {
		switch byteClass[data[pos]] {
		case quote:
			end, _, err := skipString(data, pos+1)
			if err != nil {
				return nil
			}
			pos = end
		case openingBracket:
			open = append(open, len(all))
			all = append(all, extent{start: pos})
		case closingBracket:
			if len(open) == 0 {
				return all
			}
			all[open[len(open)-1]].end = pos + 1
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return nil
	}
	return all
}

// spanAt returns the span of the value at pos.
func (w *walker) spanAt(pos int) (field.Span, error) {
	for len(w.containers) > 0 && w.containers[0].start < pos {
		w.containers = w.containers[1:]
	}
	if len(w.containers) == 0 || w.containers[0].start > pos {
		return spanAt(w.data, pos)
	}
	s := field.Span{Head: pos, Off: pos + 1, End: w.containers[0].end, Kind: field.Map}
	if w.data[pos] == '[' {
		s.Kind = field.List
	}
	return s, nil
}

// visitValue visits the value at pos and its content, and returns the offset after the value.
func (w *walker) visitValue(pos, depth int, st field.Step) (int, error) {
	if depth > maxNesting {
		return 0, depthError(pos, maxNesting)
	}
	s, err := w.spanAt(pos)
	if err != nil {
		return 0, err
	}
	switch err = w.visit(st, depth, s); {
	case errors.Is(err, format.SkipChildren):
		return endOf(s), nil
	case err != nil:
		return 0, err
	case s.Kind == field.Map:
		return w.visitMembers(s.Off, depth+1)
	case s.Kind == field.List:
		return w.visitItems(s.Off, depth+1)
	}
	return endOf(s), nil
}

func (w *walker) visitMembers(pos, depth int) (int, error) {
	for first := true; ; first = false {
		m, err := readMember(w.data, pos, first)
		if err != nil || m.value == 0 {
			return m.next, err
		}
		if pos, err = w.visitValue(m.value, depth, field.Step{Name: string(m.name(w.data)), Index: -1, Key: -1}); err != nil {
			return 0, err
		}
	}
}

func (w *walker) visitItems(pos, depth int) (int, error) {
	for i := 0; ; i++ {
		at, end, err := readSeparator(w.data, pos, i == 0, ']')
		if err != nil || end {
			return at, err
		}
		if pos, err = w.visitValue(at, depth, field.Step{Index: i, Key: -1}); err != nil {
			return 0, err
		}
	}
}

func depthError(offset, limit int) error {
	return syntaxError(offset, fmt.Sprintf("nested deeper than %d levels", limit))
}
