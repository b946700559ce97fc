package cbor

import (
	"errors"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/internal/cborhead"
)

// Walk calls visit for each value in order. Byte strings, floats and containers as keys cannot be named by a path;
// their values have an empty step. To find the end of a container, Walk reads the content again for each level around
// it. More than 256 levels are refused.
func (Format) Walk(data []byte, visit format.Visit) error {
	w := walker{data: data, visit: visit}
	_, err := w.visitItem(0, 0, field.Step{Index: -1, Key: -1})
	return err
}

type walker struct {
	data  []byte
	visit format.Visit
}

// visitItem visits the item at pos and its content, and returns the offset after the item.
func (w *walker) visitItem(pos, depth int, st field.Step) (int, error) {
	if depth > maxNesting {
		return 0, depthError(pos, maxNesting)
	}
	s, err := spanAt(w.data, pos)
	if err != nil {
		return 0, err
	}
	err = w.visit(st, depth, s)
	if err != nil || s.Kind != field.List && s.Kind != field.Map {
		return s.End, ignoreSkipChildren(err)
	}
	h, _, err := skipTags(w.data, pos)
	if err != nil {
		return 0, err
	}
	for pos, n := s.Off, 0; ; n++ {
		if h.Info != cborhead.Indefinite && uint64(n) == h.Arg {
			return pos, nil
		}
		if h.Info == cborhead.Indefinite {
			if end, err := atBreak(w.data, pos, h, 0); err != nil || end {
				return pos + 1, err
			}
		}
		st := field.Step{Index: n, Key: -1}
		if h.Major == cborhead.Map {
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
}

func ignoreSkipChildren(err error) error {
	if errors.Is(err, format.SkipChildren) {
		return nil
	}
	return err
}
