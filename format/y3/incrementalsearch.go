package y3

import (
	"fmt"
	"io"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/incremental"
)

var _ format.Incremental = Format{}

// NewSearch starts the search for the value at p in a message that arrives in pieces. The search skips packets outside
// the path by their length. A Y3 message has no length, so the search knows only at End that the first key of p is
// Absent.
func (f Format) NewSearch(p field.Path, o format.SearchOptions) format.Search {
	return incremental.New(f, &pathSearch{dialect: f.Dialect, path: p.Steps()}, o)
}

// pathSearch is the state of one incremental search.
type pathSearch struct {
	dialect     Dialect
	path        []field.Step
	step        int  // index in path of the step that the packets of the current container are compared with
	isSlice     bool // the current container is a slice
	itemsBefore int  // number of items to skip until the sought one
	end         int  // offset where the current container ends
}

// Start implements incremental.Grammar.
func (k *pathSearch) Start(s *incremental.Search) {
	*k = pathSearch{dialect: k.dialect, path: k.path, end: math.MaxInt}
	if len(k.path) == 0 {
		s.Container(field.Span{End: -1, Kind: field.Map})
		return
	}
	k.enterContainer(s, field.Map)
}

// enterContainer starts to search the packets of a value of this kind. A value that has no packets, or none that the
// step can name, makes the result Absent.
func (k *pathSearch) enterContainer(s *incremental.Search, kind field.Kind) {
	st := &k.path[k.step]
	k.isSlice, k.itemsBefore = kind == field.List, st.Index
	if kind == field.Untyped || kind == field.Map && st.Key < 0 || k.isSlice && st.Index < 0 {
		s.Absent()
	}
}

// End implements incremental.Grammar.
func (k *pathSearch) End(s *incremental.Search) error {
	if k.end < math.MaxInt {
		return io.ErrUnexpectedEOF
	}
	s.Absent()
	return nil
}

// Next implements incremental.Grammar. It consumes a whole packet. If the path continues inside the packet, it consumes
// only the tag and length.
func (k *pathSearch) Next(s *incremental.Search, b []byte) (int, error) {
	left := k.end - s.Off()
	switch {
	case left == 0:
		s.Absent()
		return 0, nil
	case len(b) == 0:
		return 0, io.ErrUnexpectedEOF
	}
	n, off, err := readLengthPart(b, left)
	if err != nil {
		return 0, err
	}
	if k.end < math.MaxInt && n > left-off {
		return 0, s.Syntax(off, fmt.Sprintf("length %d exceeds the %d bytes left in its node", n, left-off))
	}
	behind := incremental.Add(off, uint64(n))
	key := int(b[0] & keyMask)
	switch {
	case k.isSlice && key == Item && k.itemsBefore > 0:
		k.itemsBefore--
		return behind, nil
	case k.isSlice && key != Item, !k.isSlice && key != k.path[k.step].Key:
		return behind, nil
	case b[0]&nodeFlag != 0 && n > 0 && off == len(b): // the first packet decides between a slice and a map
		return 0, io.ErrUnexpectedEOF
	}
	head := s.Off()
	span := field.Span{Head: head, Off: head + off, End: incremental.Add(head, uint64(behind)), Kind: k.dialect.kind(b, b[0], off, behind)}
	k.step++
	switch {
	case k.step < len(k.path):
		k.end = min(span.End, math.MaxInt-1)
		k.enterContainer(s, span.Kind)
		return off, nil
	case span.Kind == field.Untyped:
		s.Scalar(span, span.Off)
		return behind, nil
	}
	s.Container(span)
	return off, nil
}

// readLengthPart reads the length of the packet at the start of b, which may be incomplete. off is the offset after the
// length. left is the number of bytes left in the node.
func readLengthPart(b []byte, left int) (n, off int, err error) {
	whole := b[:min(len(b), left)]
	for i, c := range whole[1:] {
		if c < 0x80 || i+1 == maxLengthBytes {
			return readLength(whole, 1, len(whole))
		}
	}
	if len(whole) == left {
		return 0, 0, &format.SyntaxError{Format: "y3", Offset: 0, Reason: "packet ends before its length does in its node"}
	}
	return 0, 0, io.ErrUnexpectedEOF
}
