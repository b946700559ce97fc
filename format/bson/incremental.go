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

// NewSearch begins the search for the value at p in a message that arrives in pieces. All values on the way but regular
// expressions are passed by their length.
func (Format) NewSearch(p field.Path, o format.SearchOptions) format.Search {
	return incremental.New(Format{}, &pathSearch{path: p.Steps()}, o)
}

// pathSearch follows a path through a message that arrives in pieces.
type pathSearch struct {
	path []field.Step
	step int // of the path, that the elements at hand are asked for

	state searchState
	end   int  // offset of the NUL that closes the document at hand
	array bool // the document is an array
	index int  // elements that come before the one sought

	typ  byte // of the element at hand
	head int  // offset of its type
	hit  bool // it is what the step asks for
}

// searchState is what comes next.
type searchState uint8

const (
	atElement searchState = iota
	atKey
	inKey // of which nothing more has to be known
	atValue
	atPattern // of a regular expression
	atOptions
)

// Start implements incremental.Grammar.
func (k *pathSearch) Start(*incremental.Search) {
	*k = pathSearch{path: k.path, state: atValue, end: math.MaxInt, typ: typeDocument, hit: true}
}

// End implements incremental.Grammar.
func (k *pathSearch) End(*incremental.Search) error { return io.ErrUnexpectedEOF }

// Next implements incremental.Grammar.
func (k *pathSearch) Next(s *incremental.Search, b []byte) (int, error) {
	left := k.end - s.Off() // in the document
	switch {
	case k.state == atValue:
		return k.value(s, b, left)
	case len(b) == 0:
		return 0, io.ErrUnexpectedEOF
	case k.state == atElement:
		return k.element(s, b[0], left)
	case k.state == atKey:
		return k.key(b, left)
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
		if k.hit {
			s.Ends(s.Off()+n, field.Extension)
		}
	}
	return n, nil
}

// element takes the type of an element, or the NUL that closes the document.
func (k *pathSearch) element(s *incremental.Search, typ byte, left int) (int, error) {
	switch {
	case (typ == 0) != (left == 0):
		_, err := container{end: left}.hasElement([]byte{typ}, 0)
		return 0, err
	case typ == 0:
		s.Absent()
		return 1, nil
	}
	k.typ, k.head, k.state = typ, s.Off(), atKey
	if k.array {
		k.hit, k.state = k.index == 0, inKey
		k.index--
	}
	return 1, nil
}

// key compares the key that b starts with, as long as it may be the one sought.
func (k *pathSearch) key(b []byte, left int) (int, error) {
	name := k.path[k.step-1].Name
	if start := b[:min(len(b), len(name))]; string(start) == name[:len(start)] && len(start) < left {
		if len(b) <= len(name) {
			return 0, io.ErrUnexpectedEOF
		}
		k.hit = b[len(name)] == 0
	} else {
		k.hit = false
	}
	k.state = inKey
	return 0, nil
}

// skipToNUL returns how many bytes of b a C string takes, and whether it ends in b. left bytes are left in its document.
func skipToNUL(s *incremental.Search, b []byte, left int) (n int, done bool, err error) {
	if n = bytes.IndexByte(b[:min(len(b), left)], 0); n >= 0 {
		return n + 1, true, nil
	}
	if left <= len(b) {
		return 0, false, s.Syntax(left, "C string without a closing NUL")
	}
	return len(b), false, nil
}

// value takes the value that b starts with, unless the path goes on in it.
func (k *pathSearch) value(s *incremental.Search, b []byte, left int) (int, error) {
	kind := kinds[k.typ]
	if k.hit && k.step < len(k.path) && kind != field.Map && kind != field.List {
		s.Absent()
		return 0, nil
	}
	n, err := valueSize(b, k.typ, 0, left)
	switch {
	case err != nil:
		return 0, err
	case n > left:
		return 0, s.Syntax(0, fmt.Sprintf("value of %d bytes where %d are left in its document", n, left))
	case k.hit && k.typ == typeBinary && len(b) < 5:
		return 0, io.ErrUnexpectedEOF
	}
	k.state = atElement
	if k.typ == typeRegex {
		k.state = atPattern
	}
	if !k.hit {
		return n, nil
	}
	at := s.Off()
	if k.step < len(k.path) {
		st := &k.path[k.step]
		k.array, k.index = k.typ == typeArray, st.Index
		if k.array && k.index < 0 || strings.IndexByte(st.Name, 0) >= 0 {
			s.Absent()
			return 0, nil
		}
		k.step++
		k.end = at + n - 1
		return 4, nil
	}
	span := field.Span{Head: k.head, Off: at, End: incremental.Add(at, uint64(n)), Kind: kind}
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
