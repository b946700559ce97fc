package json

import (
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"example.com/ferry/format"
	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/format/internal/utf8check"
)

// Validate reads data once. It returns nil only if data is exactly one JSON text (RFC 8259) that all consumers read the
// same way. White space around the text is allowed. The text must be UTF-8, escaped surrogates must form pairs, and the
// names of an object must be unique after decoding escapes. A number may have any number of digits; consumers decide
// how to round it. A byte order mark is refused. BoundsOnly checks the grammar, but not UTF-8, surrogates and duplicate
// names. More than 256 levels are refused even if Options.MaxDepth allows them.
func (Format) Validate(data []byte, o format.Options) error {
	v := validator{data: data, maxDepth: min(o.Depth(), maxNesting), strict: !o.BoundsOnly, names: objectNames{data, o.FoldKeys}}
	end, err := v.validateValue(skipSpace(data, 0), 0)
	if err != nil {
		return err
	}
	if end = skipSpace(data, end); end < len(data) && !o.AllowTrailing {
		return syntaxError(end, fmt.Sprintf("%d bytes behind the message", len(data)-end))
	}
	return nil
}

type validator struct {
	data     []byte
	maxDepth int
	strict   bool
	names    objectNames
	seen     keyset.Stack
}

// validateValue validates the value at pos and returns the offset after the value. depth is the number of containers
// around the value.
func (v *validator) validateValue(pos, depth int) (int, error) {
	if pos >= len(v.data) {
		return 0, io.ErrUnexpectedEOF
	}
	switch c := v.data[pos]; c {
	case '"':
		end, err := v.validateText(pos + 1)
		return end + 1, err
	case '{', '[':
		if depth >= v.maxDepth {
			return 0, depthError(pos, v.maxDepth)
		}
		if c == '{' {
			return v.validateObject(pos+1, depth+1)
		}
		return v.validateList(pos+1, depth+1)
	case 't':
		return v.validateWord(pos, "true")
	case 'f':
		return v.validateWord(pos, "false")
	case 'n':
		return v.validateWord(pos, "null")
	}
	return validateNumber(v.data, pos)
}

func (v *validator) validateWord(pos int, want string) (int, error) {
	end := min(pos+len(want), len(v.data))
	return end, checkLiteral(v.data, pos, end, want)
}

func (v *validator) validateList(pos, depth int) (int, error) {
	for first := true; ; first = false {
		at, end, err := readSeparator(v.data, pos, first, ']')
		if err != nil || end {
			return at, err
		}
		if pos, err = v.validateValue(at, depth); err != nil {
			return 0, err
		}
	}
}

// validateText validates the string whose content begins at pos, and returns the offset of the closing quote.
func (v *validator) validateText(pos int) (end int, err error) {
	wide := -1 // offset of the first byte that is not ASCII; -1 if there is none
	for {
		if wide < 0 {
			pos = plainEnd(v.data, pos)
		} else {
			pos = nonASCIIPlainEnd(v.data, pos)
		}
		if pos >= len(v.data) {
			return 0, io.ErrUnexpectedEOF
		}
		switch c := v.data[pos]; {
		case c == '"':
			if v.strict && wide >= 0 {
				err = v.validateUTF8(wide, pos)
			}
			return pos, err
		case c == '\\':
			if pos, err = v.validateEscape(pos); err != nil {
				return 0, err
			}
		case c < ' ':
			return 0, syntaxError(pos, fmt.Sprintf("control character 0x%02x in a string: write it as an escape", c))
		default:
			wide = pos
		}
	}
}

func (v *validator) validateUTF8(start, end int) error {
	if bad := utf8check.Bad(v.data[start:end]); bad >= 0 {
		return syntaxError(start+bad, fmt.Sprintf("byte 0x%02x is not UTF-8", v.data[start+bad]))
	}
	return nil
}

// validateEscape validates the escape at pos and returns the offset after the escape. RFC 8259, section 7.
func (v *validator) validateEscape(pos int) (int, error) {
	raw := v.data[pos:]
	if len(raw) < 2 {
		return 0, io.ErrUnexpectedEOF
	}
	switch raw[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return pos + 2, nil
	case 'u':
		r, ok := hex4(raw[2:])
		switch {
		case !ok && len(raw) < 6:
			return 0, io.ErrUnexpectedEOF
		case !ok:
			return 0, syntaxError(pos, fmt.Sprintf("%q is no escape", raw[:6]))
		case !v.strict || !utf16.IsSurrogate(r):
			return pos + 6, nil
		}
		low, ok := lowSurrogate(raw[6:])
		if ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			return pos + 12, nil
		}
		return 0, syntaxError(pos, fmt.Sprintf("%q is half a surrogate pair: readers disagree on it", raw[:6]))
	}
	return 0, syntaxError(pos, fmt.Sprintf("%q is no escape", raw[:2]))
}

// validateNumber validates the number at pos and returns the offset after the number. RFC 8259, section 6.
func validateNumber(data []byte, pos int) (int, error) {
	start := pos
	if data[pos] == '-' {
		pos++
	}
	digits := pos
	if pos = skipDigits(data, pos); pos == digits {
		return numberError(data, start, pos)
	}
	if data[digits] == '0' && pos > digits+1 {
		return 0, syntaxError(start, "a number with a leading zero")
	}
	if pos < len(data) && data[pos] == '.' {
		digits = pos + 1
		if pos = skipDigits(data, digits); pos == digits {
			return numberError(data, start, pos)
		}
	}
	if pos < len(data) && data[pos]|0x20 == 'e' {
		if pos++; pos < len(data) && (data[pos] == '+' || data[pos] == '-') {
			pos++
		}
		digits = pos
		if pos = skipDigits(data, digits); pos == digits {
			return numberError(data, start, pos)
		}
	}
	return pos, nil
}

func skipDigits(data []byte, pos int) int {
	for pos < len(data) && data[pos]-'0' <= 9 {
		pos++
	}
	return pos
}

func numberError(data []byte, start, pos int) (int, error) {
	switch {
	case pos >= len(data):
		return 0, io.ErrUnexpectedEOF
	case pos == start:
		return 0, unexpectedByte(data, pos, "a value")
	}
	return 0, unexpectedByte(data, pos, "a digit")
}
