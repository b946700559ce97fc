package json

import (
	"io"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/incremental"
)

var _ format.Incremental = Format{}

// NewSearch begins the search for the value at p in a message that arrives in pieces. What it passes over is looked at byte by
// byte, as in JSON only that tells where a value ends. A number ends with the byte behind it, or with the message; one
// longer than MaxValue is an integer as far as its span says.
func (Format) NewSearch(p field.Path, o format.SearchOptions) format.Search {
	return incremental.New(Format{}, &pathSearch{path: p.Steps(), depth: o.Depth()}, o)
}

// pathSearch follows a path through a message that arrives in pieces.
type pathSearch struct {
	path  []field.Step
	depth int

	step    int // of the path, that the container at hand is asked for
	state   searchState
	list    bool // the container at hand is a list
	index   int  // items that come before the one sought
	hit     bool // the name was the one sought
	open    int  // containers that are passed over
	escaped bool // the last byte was a backslash that escapes the next one
}

// searchState is what comes next.
type searchState uint8

const (
	atValue     searchState = iota // on the path
	atFirst                        // what a container starts with
	atNext                         // what follows a value
	atName                         // a member
	inName                         // the rest of a name, which is not the one sought
	atColon                        // what follows a name
	atItem                         // an item
	atPassed                       // a value that nobody seeks
	inContainer                    // the rest of such a container
	inString                       // the rest of a string in it
	inText                         // the rest of a text that nobody seeks
	inToken                        // the rest of such a number or literal
	inNumber                       // the rest of the number sought
	inValue                        // the rest of the text sought
)

// Start implements incremental.Grammar.
func (k *pathSearch) Start(*incremental.Search) { *k = pathSearch{path: k.path, depth: k.depth} }

// End implements incremental.Grammar: an outermost number ends with the message.
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
		return k.pastText(s, b), nil
	case inContainer:
		return k.pastContainer(b)
	case inToken, inNumber:
		return k.pastToken(s, b), nil
	}
	if n := skipSpace(b, 0); n > 0 {
		return n, nil
	}
	switch k.state {
	case atValue:
		return k.value(s, b)
	case atFirst, atNext:
		return k.separator(s, b)
	case atName:
		return k.name(b)
	case atItem:
		k.hit = k.index == 0
		k.index--
		k.state = atPassed
		if k.hit {
			k.state = atValue
		}
		return 0, nil
	case atColon:
		if b[0] != ':' {
			return 0, unexpectedByte(b, 0, "a colon")
		}
		k.state = atPassed
		if k.hit {
			k.state = atValue
		}
		return 1, nil
	default:
		return k.passed(b)
	}
}

// separator takes what stands before a member or an item, or the end of the container.
func (k *pathSearch) separator(s *incremental.Search, b []byte) (int, error) {
	next, closing, want := atName, byte('}'), "a comma or '}'"
	if k.list {
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

// longestEscape is how many bytes of a name in quotes stand for one byte of it at most: \u0041.
const longestEscape = 6

// name takes the name that b starts with, or as much of it as could be the one sought.
func (k *pathSearch) name(b []byte) (int, error) {
	if b[0] != '"' {
		return 0, unexpectedByte(b, 0, "a name in quotes")
	}
	want := k.path[k.step-1].Name
	k.hit = false
	end, escaped, err := skipString(b, 1)
	switch {
	case err == nil:
		k.state = atColon
		k.hit = member{key: 1, keyEnd: end, escaped: escaped}.is(b, want)
		return end + 1, nil
	case len(b) <= 1+longestEscape*len(want):
		return 0, err
	}
	k.state = inName
	return 1, nil
}

// value takes the start of a value on the path.
func (k *pathSearch) value(s *incremental.Search, b []byte) (int, error) {
	c := b[0]
	at := s.Off()
	span := field.Span{Head: at, Off: at, End: -1}
	switch {
	case c == '{' || c == '[':
		k.list = c == '['
		if k.step < len(k.path) {
			return k.enter(s)
		}
		span.Off, span.Kind = at+1, field.Map
		if k.list {
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
		if err := literal(b, 0, min(n, len(b)), literalWords[c]); err != nil {
			return 0, err
		}
	}
	s.Scalar(span, span.Off)
	return max(span.End, span.Off) - at, nil
}

var literalWords = [256]string{'t': "true", 'f': "false", 'n': "null"}

// enter takes the bracket of a container on the path.
func (k *pathSearch) enter(s *incremental.Search) (int, error) {
	k.index = k.path[k.step].Index
	if k.list && k.index < 0 {
		s.Absent()
		return 0, nil
	}
	k.step++
	k.state = atFirst
	return 1, nil
}

// passed takes the start of a value that nobody seeks.
func (k *pathSearch) passed(b []byte) (int, error) {
	switch class[b[0]] {
	case quote:
		k.state = inText
		return 1, nil
	case opener:
		k.state = inContainer
		return 0, nil
	case inside:
		k.state = inToken
		return 1, nil
	}
	return 0, unexpectedByte(b, 0, "a value")
}

// pastContainer takes as much as there is of a container that nobody seeks. It sees strings and brackets only.
func (k *pathSearch) pastContainer(b []byte) (int, error) {
	for pos, c := range b {
		switch class[c] {
		case quote:
			k.state = inString
			return pos + 1, nil
		case opener:
			if k.open++; k.step+k.open > k.depth {
				return 0, depthError(pos, k.depth)
			}
		case closer:
			if k.open--; k.open == 0 {
				k.state = atNext
				return pos + 1, nil
			}
		}
	}
	return len(b), nil
}

// pastText takes as much as there is of a string, and the quote behind it.
func (k *pathSearch) pastText(s *incremental.Search, b []byte) int {
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

// pastToken takes as much as there is of a number or a literal. A number ends where the next byte is none of it, so that
// all of it has been kept by then.
func (k *pathSearch) pastToken(s *incremental.Search, b []byte) int {
	n := 0
	for n < len(b) && class[b[n]] == inside {
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
