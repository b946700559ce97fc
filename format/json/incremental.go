package json

import (
	"io"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/incremental"
)

var _ format.Incremental = Format{}

// NewSearch starts the search for the value at p in a message that arrives in pieces. The end of a skipped value is not
// known in advance, so all its bytes are read. A number ends before the first byte that cannot belong to it, or at the
// end of the message. The span of a number longer than MaxValue has Kind Int, because the rest of the number is not
// read.
func (Format) NewSearch(p field.Path, o format.SearchOptions) format.Search {
	return incremental.New(Format{}, &pathSearch{path: p.Steps(), maxDepth: o.Depth()}, o)
}

// pathSearch is the incremental.Grammar of JSON: the state of one search.
type pathSearch struct {
	path     []field.Step
	maxDepth int

	step        int // index in path of the step that is searched in the current container
	state       searchState
	isList      bool // the current container is a list
	itemsBefore int  // number of items before the item on the path
	nameMatches bool // the last name matches the step
	openSkipped int  // number of open containers outside the path
	escaped     bool // the last byte was a backslash that escapes the next byte
}

// searchState tells what the next bytes are.
type searchState uint8

const (
	atValue        searchState = iota // value on the path
	atFirst                           // first byte after an opening bracket
	atNext                            // bytes after a value
	atName                            // member of an object
	inName                            // rest of a name that does not match
	atColon                           // bytes after a name
	atItem                            // item of a list
	atSkippedValue                    // value outside the path
	inContainer                       // rest of a container outside the path
	inString                          // rest of a string in a container outside the path
	inText                            // rest of a text outside the path
	inToken                           // rest of a number or literal outside the path
	inNumber                          // rest of the number that is the value
	inValue                           // rest of the text that is the value
)

// Start implements incremental.Grammar.
func (k *pathSearch) Start(*incremental.Search) { *k = pathSearch{path: k.path, maxDepth: k.maxDepth} }

// End implements incremental.Grammar. If the whole message is one number, the end of the message ends this number.
func (k *pathSearch) End(s *incremental.Search) error {
	if k.state != inNumber || k.step > 0 {
		return io.ErrUnexpectedEOF
	}
	s.Ends(s.Off(), numberKind(s.Kept()))
	return nil
}

// Next implements incremental.Grammar.
func (k *pathSearch) Next(s *incremental.Search, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	switch k.state {
	case inName, inText, inString, inValue:
		return k.readTextPart(s, b), nil
	case inContainer:
		return k.skipContainerPart(b)
	case inToken, inNumber:
		return k.readTokenPart(s, b), nil
	}
	if n := skipSpace(b, 0); n > 0 {
		return n, nil
	}
	switch k.state {
	case atValue:
		return k.startValue(s, b)
	case atFirst, atNext:
		return k.readSeparator(s, b)
	case atName:
		return k.compareName(b)
	case atItem:
		k.nameMatches = k.itemsBefore == 0
		k.itemsBefore--
		k.state = atSkippedValue
		if k.nameMatches {
			k.state = atValue
		}
		return 0, nil
	case atColon:
		if b[0] != ':' {
			return 0, unexpectedByte(b, 0, "a colon")
		}
		k.state = atSkippedValue
		if k.nameMatches {
			k.state = atValue
		}
		return 1, nil
	default:
		return k.startSkippedValue(b)
	}
}

// readSeparator reads the comma before a member or item, or the end of the container.
func (k *pathSearch) readSeparator(s *incremental.Search, b []byte) (int, error) {
	next, closing, want := atName, byte('}'), "a comma or '}'"
	if k.isList {
		next, closing, want = atItem, ']', "a comma or ']'"
	}
	switch {
	case b[0] == closing:
		s.Absent()
		return 1, nil
	case k.state == atFirst:
		k.state = next
		return 0, nil
	case b[0] != ',':
		return 0, unexpectedByte(b, 0, want)
	}
	k.state = next
	return 1, nil
}

// longestEscape is the maximum number of bytes that encode one byte of a name, as in \u0041.
const longestEscape = 6

// compareName compares the name at the start of b with the step. It needs the complete name only while the name can
// still match.
func (k *pathSearch) compareName(b []byte) (int, error) {
	if b[0] != '"' {
		return 0, unexpectedByte(b, 0, "a name in quotes")
	}
	want := k.path[k.step-1].Name
	k.nameMatches = false
	end, escaped, err := skipString(b, 1)
	switch {
	case err == nil:
		k.state = atColon
		k.nameMatches = member{key: 1, keyEnd: end, escaped: escaped}.hasName(b, want)
		return end + 1, nil
	case len(b) <= 1+longestEscape*len(want):
		return 0, err
	}
	k.state = inName
	return 1, nil
}

// startValue reads the start of a value on the path.
func (k *pathSearch) startValue(s *incremental.Search, b []byte) (int, error) {
	c := b[0]
	at := s.Off()
	span := field.Span{Head: at, Off: at, End: -1}
	switch {
	case c == '{' || c == '[':
		k.isList = c == '['
		if k.step < len(k.path) {
			return k.enterContainer(s)
		}
		span.Off, span.Kind = at+1, field.Map
		if k.isList {
			span.Kind = field.List
		}
		s.Container(span)
		return 1, nil
	case c == '"':
		span.Off, span.Kind, k.state = at+1, field.Text, inValue
	case c == 't':
		span.Kind, span.End = field.Bool, at+len("true")
	case c == 'f':
		span.Kind, span.End = field.Bool, at+len("false")
	case c == 'n':
		span.Kind, span.End = field.Null, at+len("null")
	case c == '-' || c-'0' <= 9:
		span.Kind, k.state = field.Int, inNumber
	default:
		return 0, unexpectedByte(b, 0, "a value")
	}
	if k.step < len(k.path) {
		s.Absent()
		return 0, nil
	}
	if n := span.End - at; n > 0 {
		if err := checkLiteral(b, 0, min(n, len(b)), literalWords[c]); err != nil {
			return 0, err
		}
	}
	s.Scalar(span, span.Off)
	return max(span.End, span.Off) - at, nil
}

var literalWords = [256]string{'t': "true", 'f': "false", 'n': "null"}

// enterContainer reads the opening bracket of a container on the path.
func (k *pathSearch) enterContainer(s *incremental.Search) (int, error) {
	k.itemsBefore = k.path[k.step].Index
	if k.isList && k.itemsBefore < 0 {
		s.Absent()
		return 0, nil
	}
	k.step++
	k.state = atFirst
	return 1, nil
}

// startSkippedValue reads the start of a value outside the path.
func (k *pathSearch) startSkippedValue(b []byte) (int, error) {
	switch byteClass[b[0]] {
	case quote:
		k.state = inText
		return 1, nil
	case openingBracket:
		k.state = inContainer
		return 0, nil
	case partOfToken:
		k.state = inToken
		return 1, nil
	}
	return 0, unexpectedByte(b, 0, "a value")
}

// skipContainerPart skips the bytes of b that belong to a container outside the path. It looks only for strings and
// brackets.
func (k *pathSearch) skipContainerPart(b []byte) (int, error) {
	for pos, c := range b {
		switch byteClass[c] {
		case quote:
			k.state = inString
			return pos + 1, nil
		case openingBracket:
			if k.openSkipped++; k.step+k.openSkipped > k.maxDepth {
				return 0, depthError(pos, k.maxDepth)
			}
		case closingBracket:
			if k.openSkipped--; k.openSkipped == 0 {
				k.state = atNext
				return pos + 1, nil
			}
		}
	}
	return len(b), nil
}

// readTextPart reads the bytes of b that belong to a string, with the closing quote.
func (k *pathSearch) readTextPart(s *incremental.Search, b []byte) int {
	start := 0
	if k.escaped {
		k.escaped, start = false, 1
	}
	end, _, err := skipString(b, start)
	if err != nil {
		for i := len(b); i > start && b[i-1] == '\\'; i-- {
			k.escaped = !k.escaped
		}
		return len(b)
	}
	switch k.state {
	case inName:
		k.state = atColon
	case inText:
		k.state = atNext
	case inString:
		k.state = inContainer
	case inValue:
		s.Ends(s.Off()+end, field.Text)
	}
	return end + 1
}

// readTokenPart reads the bytes of b that belong to a number or literal. A number ends before the first byte that
// cannot belong to it. All bytes of the number are stored by then.
func (k *pathSearch) readTokenPart(s *incremental.Search, b []byte) int {
	n := 0
	for n < len(b) && byteClass[b[n]] == partOfToken {
		n++
	}
	if n == 0 {
		if k.state == inNumber {
			s.Ends(s.Off(), numberKind(s.Kept()))
		}
		k.state = atNext
	}
	return n
}
