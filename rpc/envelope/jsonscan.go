package envelope

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// scanner reads a JSON text without decoding it. RFC 8259. Inside of a value it looks only for strings and brackets: the codec, or
// json.Valid, checks the rest when the value is used.
type scanner struct {
	kind
	data []byte
	pos  int
}

// skipSpace skips white space. RFC 8259, section 2.
func (s *scanner) skipSpace() {
	for s.pos < len(s.data) && isSpace(s.data[s.pos]) {
		s.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

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
func (s *scanner) name() (string, error) {
	if s.peek() != '"' {
		return "", s.unexpected("a name in quotes")
	}
	start := s.pos
	raw, err := s.value()
	if err != nil {
		return "", err
	}
	if err := s.expect(':'); err != nil {
		return "", err
	}
	switch name := raw[1 : len(raw)-1]; string(name) { // without allocations
	case "jsonrpc":
		return "jsonrpc", nil
	case "method":
		return "method", nil
	case "params":
		return "params", nil
	case "id":
		return "id", nil
	case "result":
		return "result", nil
	case "error":
		return "error", nil
	case "code":
		return "code", nil
	case "message":
		return "message", nil
	case "data":
		return "data", nil
	}
	return s.text(raw, start)
}

// value reads a value and returns its bytes, which are not empty.
func (s *scanner) value() ([]byte, error) {
	c := s.peek()
	start := s.pos
	switch class[c] {
	case quote:
		if s.pos = stringEnd(s.data, s.pos+1); s.pos < 0 {
			s.pos = len(s.data)
			return nil, s.unexpected(`a closing "`)
		}
	case opening:
		if s.pos = containerEnd(s.data, s.pos); s.pos < 0 {
			s.pos = len(s.data)
			return nil, s.unexpected("a closing bracket")
		}
	case token:
		if s.pos >= len(s.data) {
			return nil, s.unexpected("a value")
		}
		for s.pos < len(s.data) && class[s.data[s.pos]] == token {
			s.pos++
		}
	default:
		return nil, s.unexpected("a value")
	}
	return s.data[start:s.pos:s.pos], nil
}

// text decodes raw, a string in quotes at the offset start.
func (s *scanner) text(raw []byte, start int) (string, error) {
	if isPlain(raw[1 : len(raw)-1]) {
		return string(raw[1 : len(raw)-1]), nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", s.errorf(start, "a string that is not JSON: %v", err)
	}
	return text, nil
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

// Classes of bytes outside of strings.
const (
	token   = iota // part of a number or literal
	quote          // begins a string
	opening        // [ or {
	closing        // ] or }
	between        // comma, colon or white space; ends a number or literal
)

var class = [256]uint8{
	'"': quote, '{': opening, '[': opening, '}': closing, ']': closing,
	',': between, ':': between, ' ': between, '\t': between, '\n': between, '\r': between,
}

// Eight bytes are tested as one word. In the result, the high bit of a byte is set if the byte matches. A borrow can set wrong bits
// only after the first match, and only the first match is used.
const (
	low      = 0x0101010101010101
	high     = 0x8080808080808080
	caseBits = 0x2020202020202020 // [ and { differ in this bit, and so do ] and }
)

// containerEnd returns the offset after the object or list that begins at pos, or -1. It looks only for strings and brackets.
func containerEnd(data []byte, pos int) int {
	for depth := 0; pos < len(data); pos++ {
		if pos+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[pos:])
			folded := w | caseBits
			hit := (((w ^ low*'"') - low) | ((folded ^ low*'{') - low) | ((folded ^ low*'}') - low)) &^ w & high
			if hit == 0 {
				pos += 7
				continue
			}
			pos += bits.TrailingZeros64(hit) / 8
		}
		switch class[data[pos]] {
		case quote:
			if pos = stringEnd(data, pos+1); pos < 0 {
				return -1
			}
			pos--
		case opening:
			depth++
		case closing:
			if depth--; depth == 0 {
				return pos + 1
			}
		}
	}
	return -1
}

// stringEnd returns the offset after the closing quote of the string whose content begins at pos, or -1.
func stringEnd(data []byte, pos int) int {
	for {
		for pos+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[pos:])
			hit := (((w ^ low*'"') - low) | ((w ^ low*'\\') - low)) &^ w & high
			if hit != 0 {
				pos += bits.TrailingZeros64(hit) / 8
				break
			}
			pos += 8
		}
		for pos < len(data) && data[pos] != '"' && data[pos] != '\\' {
			pos++
		}
		switch {
		case pos >= len(data):
			return -1
		case data[pos] == '"':
			return pos + 1
		}
		pos += 2 // a backslash and the character that it escapes
	}
}

// appendText appends text as a JSON string.
func appendText(dst []byte, text string) []byte {
	if isPlain(text) {
		return append(append(append(dst, '"'), text...), '"')
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return append(dst, `""`...) // json.Marshal accepts any string
	}
	return append(dst, quoted...)
}

var null = []byte("null")

// isNull reports whether raw is the literal null.
func isNull(raw []byte) bool { return bytes.Equal(raw, null) }
