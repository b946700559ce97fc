package json

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// maxNesting bounds the recursion of Walk and Validate, whatever Options.MaxDepth is.
const maxNesting = 256

// Walk calls visit for each value in order. To find the end of a container, Walk reads the content again for each level
// around it. More than 256 levels are refused.
func (Format) Walk(data []byte, visit format.Visit) error {
	w := walker{data: data, visit: visit}
	_, err := w.visitValue(skipSpace(data, 0), 0, field.Step{Index: -1, Key: -1})
	return err
}

type walker struct {
	data  []byte
	visit format.Visit
}

// visitValue visits the value at pos and its content, and returns the offset after the value.
func (w *walker) visitValue(pos, depth int, st field.Step) (int, error) {
	if depth > maxNesting {
		return 0, depthError(pos, maxNesting)
	}
	s, err := spanAt(w.data, pos)
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
