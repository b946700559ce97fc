package json

import (
	"io"
	"strings"

	"example.com/ferry/field"
)

// spanAt returns the span of the value at pos. For a text, End is the offset of the closing quote.
func spanAt(data []byte, pos int) (field.Span, error) {
	end, err := skipValue(data, pos)
	if err != nil {
		return field.Span{}, err
	}
	s := field.Span{Head: pos, Off: pos, End: end}
	switch c := data[pos]; c {
	case '{':
		s.Kind, s.Off = field.Map, pos+1
	case '[':
		s.Kind, s.Off = field.List, pos+1
	case '"':
		s.Kind, s.Off, s.End = field.Text, pos+1, end-1
	case 't':
		s.Kind, err = field.Bool, checkLiteral(data, pos, end, "true")
	case 'f':
		s.Kind, err = field.Bool, checkLiteral(data, pos, end, "false")
	case 'n':
		s.Kind, err = field.Null, checkLiteral(data, pos, end, "null")
	default:
		if c != '-' && c-'0' > 9 {
			return field.Span{}, unexpectedByte(data, pos, "a value")
		}
		s.Kind = numberKind(data[pos:end])
		if end == len(data) && pos > 0 && isInsideContainer(data[:pos]) {
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		return field.Span{}, err
	}
	return s, nil
}

// isInsideContainer reports whether a value is part of a container. before holds the bytes before the value. Only the
// outermost value has nothing but white space before it.
func isInsideContainer(before []byte) bool { return skipSpace(before, 0) < len(before) }

// endOf returns the offset after the value with span s.
func endOf(s field.Span) int {
	if s.Kind == field.Text {
		return s.End + 1
	}
	return s.End
}

func checkLiteral(data []byte, pos, end int, want string) error {
	switch got := string(data[pos:end]); {
	case got == want:
		return nil
	case end == len(data) && strings.HasPrefix(want, got):
		return io.ErrUnexpectedEOF
	}
	return unexpectedByte(data, pos, "a value")
}

// numberKind returns Int or Float for the text of a number. -0 is a Float, because no integer has a negative zero.
func numberKind(text []byte) field.Kind {
	for _, c := range text {
		if c == '.' || c|0x20 == 'e' {
			return field.Float
		}
	}
	if string(text) == "-0" {
		return field.Float
	}
	return field.Int
}
