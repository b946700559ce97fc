package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"example.com/ferry/format"
	formatjson "example.com/ferry/format/json"
	"example.com/ferry/rpc/call"
)

// scanner reads a JSON text without decoding it. RFC 8259. In a request, each value is checked. Inside of a value of a response it looks only for strings and
// brackets: the codec checks the rest when the value is used.
type scanner struct {
	kind
	data []byte
	pos  int
}

// skipSpace skips white space. RFC 8259, section 2.
func (s *scanner) skipSpace() { s.pos = formatjson.SkipSpace(s.data, s.pos) }

// peek returns the next byte behind white space, or 0 at the end.
func (s *scanner) peek() byte {
	s.skipSpace()
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

// expect reads c behind white space.
func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return s.unexpected(string(c))
	}
	s.pos++
	return nil
}

func (s *scanner) unexpected(want string) error {
	if s.pos >= len(s.data) {
		return s.errorf(s.pos, "the message ends where %s is expected", want)
	}
	return s.errorf(s.pos, "%q where %s is expected", s.data[s.pos], want)
}

// end checks that nothing but white space follows.
func (s *scanner) end() error {
	if s.skipSpace(); s.pos < len(s.data) {
		return s.unexpected("the end of the message")
	}
	return nil
}

// element moves to the next member or item of a container and reports whether there is one. first is set before the first one. At
// the end it reads the bracket.
func (s *scanner) element(first bool, bracket byte) (bool, error) {
	switch c := s.peek(); {
	case c == bracket:
		s.pos++
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, s.unexpected("a comma or " + string(bracket))
	}
	s.pos++
	return true, nil
}

// name reads a member's name and the colon.
func (s *scanner) name() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.unexpected("a name in quotes")
	}
	start := s.pos
	raw, err := s.value()
	if err != nil {
		return nil, err
	}
	if err := s.expect(':'); err != nil {
		return nil, err
	}
	return s.text(raw, start)
}

// value reads a value and returns its bytes, which are not empty.
func (s *scanner) value() ([]byte, error) {
	s.skipSpace()
	start := s.pos
	end, err := s.skipValue(start)
	switch {
	case err == nil:
		s.pos = end
		return s.data[start:end:end], nil
	case start >= len(s.data) || !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, s.unexpected("a value")
	}
	s.pos = len(s.data)
	if s.data[start] == '"' {
		return nil, s.unexpected(`a closing "`)
	}
	return nil, s.unexpected("a closing bracket")
}

// skipValue returns the offset after the value at pos, which is checked in a request.
func (s *scanner) skipValue(pos int) (int, error) {
	checked := s.code == call.InvalidArgument
	if checked {
		if end, err := formatjson.CheckValue(s.data, pos); err == nil {
			return end, nil
		}
	}
	end, err := formatjson.SkipValue(s.data, pos)
	if err == nil && checked && !json.Valid(s.data[pos:end]) { // format/json limits the nesting
		err = errInvalid
	}
	return end, err
}

var errInvalid = errors.New("not JSON")

// text decodes raw, a string in quotes at the offset start. The result may be a part of it.
func (s *scanner) text(raw []byte, start int) ([]byte, error) {
	if plain := raw[1 : len(raw)-1]; isPlain(plain) {
		return plain, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, s.errorf(start, "a string that is not JSON: %v", err)
	}
	return []byte(text), nil
}

// ValidJSON reports whether data is one JSON text.
func ValidJSON(data []byte) bool {
	return formatjson.Format{}.Validate(data, format.Options{BoundsOnly: true}) == nil || json.Valid(data) // the second one accepts deeper nesting
}

// isPlain reports whether text means itself between quotes.
func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendText appends text as a JSON string. What is not UTF-8 becomes U+FFFD.
func appendText(dst []byte, text string) []byte {
	if isPlain(text) {
		return append(append(append(dst, '"'), text...), '"')
	}
	return formatjson.AppendText(dst, strings.ToValidUTF8(text, "\uFFFD"))
}

var null = []byte("null")

// isNull reports whether raw is the literal null.
func isNull(raw []byte) bool { return bytes.Equal(raw, null) }
