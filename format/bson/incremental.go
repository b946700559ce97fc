package bson

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/incremental"
)

var _ format.Incremental = Format{}

// NewSearch starts the search for the value at p in a message that arrives in pieces. Values outside the path are
// skipped by their length. Regular expressions have no length and are read to their end.
func (Format) NewSearch(p field.Path, o format.SearchOptions) format.Search {
	return incremental.New(Format{}, &pathSearch{path: p.Steps()}, o)
}

// pathSearch is the incremental.Grammar of BSON: the state of one search.
type pathSearch struct {
	path []field.Step
	step int // index in path of the step that is searched in the current document

	state       searchState
	end         int  // offset of the NUL that closes the current document
	isArray     bool // the current document is an array
	itemsBefore int  // number of elements before the element on the path, in an array

	typ           byte // type of the current element
	elementOffset int  // offset of the current element, which begins with its type
	matches       bool // the current element matches the step
}

// searchState tells what the next bytes are.
type searchState uint8

const (
	atElement searchState = iota // type of an element, or the NUL that closes the document
	atKey                        // key that must be compared
	inKey                        // rest of a key that needs no comparison
	atValue                      // value of an element
	atPattern                    // first string of a regular expression
	atOptions                    // second string of a regular expression
)

// Start implements incremental.Grammar.
func (k *pathSearch) Start(*incremental.Search) {
	*k = pathSearch{path: k.path, state: atValue, end: math.MaxInt, typ: typeDocument, matches: true}
}

// End implements incremental.Grammar.
func (k *pathSearch) End(*incremental.Search) error { return io.ErrUnexpectedEOF }

// Next implements incremental.Grammar.
func (k *pathSearch) Next(s *incremental.Search, b []byte) (int, error) {
	left := k.end - s.Off() // number of bytes left in the document
	switch {
	case k.state == atValue:
		return k.readValue(s, b, left)
	case len(b) == 0:
		return 0, io.ErrUnexpectedEOF
	case k.state == atElement:
		return k.readElementType(s, b[0], left)
	case k.state == atKey:
		return k.compareKey(b, left)
	}
	n, done, err := skipToNUL(s, b, left)
	if err != nil || !done {
		return n, err
	}
	switch k.state {
	case inKey:
		k.state = atValue
	case atPattern:
		k.state = atOptions
	case atOptions:
		k.state = atElement
		if k.matches {
			s.Ends(s.Off()+n, field.Extension)
		}
	}
	return n, nil
}

// readElementType reads the type of an element, or the NUL that closes the document.
func (k *pathSearch) readElementType(s *incremental.Search, typ byte, left int) (int, error) {
	switch {
	case (typ == 0) != (left == 0):
		_, err := container{end: left}.hasElement([]byte{typ}, 0)
		return 0, err
	case typ == 0:
		s.Absent()
		return 1, nil
	}
	k.typ, k.elementOffset, k.state = typ, s.Off(), atKey
	if k.isArray {
		k.matches, k.state = k.itemsBefore == 0, inKey
		k.itemsBefore--
	}
	return 1, nil
}

// compareKey compares the key at the start of b with the step.
func (k *pathSearch) compareKey(b []byte, left int) (int, error) {
	name := k.path[k.step-1].Name
	if start := b[:min(len(b), len(name))]; string(start) == name[:len(start)] && len(start) < left {
		if len(b) <= len(name) {
			return 0, io.ErrUnexpectedEOF
		}
		k.matches = b[len(name)] == 0
	} else {
		k.matches = false
	}
	k.state = inKey
	return 0, nil
}

// skipToNUL returns how many bytes of b belong to a C string, and whether the C string ends in b. left is the number of
// bytes left in the document.
func skipToNUL(s *incremental.Search, b []byte, left int) (n int, done bool, err error) {
	if n = bytes.IndexByte(b[:min(len(b), left)], 0); n >= 0 {
		return n + 1, true, nil
	}
	if left <= len(b) {
		return 0, false, s.Syntax(left, "C string without a closing NUL")
	}
	return len(b), false, nil
}

// readValue reads the value at the start of b. If the path continues in this value, readValue enters it. If the path
// ends there, readValue reports it as found. All other values are skipped.
func (k *pathSearch) readValue(s *incremental.Search, b []byte, left int) (int, error) {
	kind := kindByType[k.typ]
	if k.matches && k.step < len(k.path) && kind != field.Map && kind != field.List {
		s.Absent()
		return 0, nil
	}
	n, err := valueSize(b, k.typ, 0, left)
	switch {
	case err != nil:
		return 0, err
	case n > left:
		return 0, s.Syntax(0, fmt.Sprintf("value of %d bytes where %d are left in its document", n, left))
	case k.matches && k.typ == typeBinary && len(b) < 5:
		return 0, io.ErrUnexpectedEOF
	}
	k.state = atElement
	if k.typ == typeRegex {
		k.state = atPattern
	}
	if !k.matches {
		return n, nil
	}
	at := s.Off()
	if k.step < len(k.path) {
		st := &k.path[k.step]
		k.isArray, k.itemsBefore = k.typ == typeArray, st.Index
		if k.isArray && k.itemsBefore < 0 || strings.IndexByte(st.Name, 0) >= 0 {
			s.Absent()
			return 0, nil
		}
		k.step++
		k.end = at + n - 1
		return 4, nil
	}
	span := field.Span{Head: k.elementOffset, Off: at, End: incremental.Add(at, uint64(n)), Kind: kind}
	switch kind {
	case field.Map, field.List:
		span.Off += 4
		s.Container(span)
		return 4, nil
	case field.Text:
		span.Off += 4
		span.End--
	case field.Bytes:
		if span.Off += 5; b[4] == subtypeOldBinary {
			if n < 9 {
				return 0, s.Syntax(5, "binary of subtype 2 without its second length")
			}
			span.Off += 4
		}
	}
	if k.typ == typeRegex {
		span.End = -1
	}
	s.Scalar(span, span.Off, 0, k.typ)
	return n, nil
}
