package bson

import (
	"errors"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// maxNesting bounds the recursion of Validate and Walk, whatever Options.MaxDepth allows.
const maxNesting = 256

// Walk calls visit for each value in order. The step of an array item is its index, whatever its key is. An empty key
// gives an empty step. More than 256 levels are refused.
func (Format) Walk(data []byte, visit format.Visit) error {
	w := walker{data, visit}
	return w.visitValue(wholeMessage, 0, field.Step{Index: -1, Key: -1})
}

type walker struct {
	data  []byte
	visit format.Visit
}

// visitValue visits one value and its content.
func (w *walker) visitValue(at valuePlace, depth int, st field.Step) error {
	if depth > maxNesting {
		return depthError(at.head, maxNesting)
	}
	s, err := at.span(w.data)
	if err != nil {
		return err
	}
	if err := w.visit(st, depth, s); errors.Is(err, format.SkipChildren) {
		return nil
	} else if err != nil || s.Kind != field.Map && s.Kind != field.List {
		return err
	}
	c := container{s.Off, s.End - 1}
	for pos, index := c.pos, 0; ; index++ {
		more, err := c.hasElement(w.data, pos)
		if err != nil || !more {
			return err
		}
		value, err := c.valueOffset(w.data, pos)
		if err != nil {
			return err
		}
		st := field.Step{Index: index, Key: -1}
		if s.Kind == field.Map {
			st = field.Step{Name: string(w.data[pos+1 : value-1]), Index: -1, Key: -1}
		}
		if err := w.visitValue(valuePlace{pos, value, c.end}, depth+1, st); err != nil {
			return err
		}
		if pos, err = skipValue(w.data, w.data[pos], value, c.end); err != nil {
			return err
		}
	}
}
