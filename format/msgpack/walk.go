package msgpack

import (
	"errors"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Walk calls visit for each value in order. A key that is neither a text nor an integer gives its value an empty step,
// because no path can name it. Validate refuses such keys. Walk reads the content of a container once more for each
// level around it, to find the container's end. More than 256 levels are refused.
func (Format) Walk(data []byte, visit format.Visit) error {
	w := walker{data: data, visit: visit}
	_, err := w.visitItem(0, 0, field.Step{Index: -1, Key: -1})
	return err
}

type walker struct {
	data  []byte
	visit format.Visit
}

// visitItem visits the item at pos and its content. It returns the end of that item.
func (w *walker) visitItem(pos, depth int, st field.Step) (int, error) {
	if depth > maxNesting {
		return 0, depthError(pos, maxNesting)
	}
	s, err := spanAt(w.data, pos)
	if err != nil {
		return 0, err
	}
	err = w.visit(st, depth, s)
	switch {
	case errors.Is(err, format.SkipChildren):
		return s.End, nil
	case err != nil || s.Kind != field.List && s.Kind != field.Map:
		return s.End, err
	}
	h, err := readHead(w.data, pos)
	if err != nil {
		return 0, err
	}
	pos = s.Off
	for n := range int(h.n) {
		st := field.Step{Index: n, Key: -1}
		if h.kind == field.Map {
			k, err := readKey(w.data, pos)
			if err != nil {
				return 0, err
			}
			st, pos = k.step(w.data), k.end
		}
		if pos, err = w.visitItem(pos, depth+1, st); err != nil {
			return 0, err
		}
	}
	return pos, nil
}
