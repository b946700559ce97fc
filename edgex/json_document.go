package edgex

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"io"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/format/json"
)

// jsonDocument is a document in JSON. RFC 8259.
type jsonDocument struct{ data []byte }

// space returns the offset of the first byte at or after pos that is not white space.
func (d *jsonDocument) space(pos int) int { return json.SkipSpace(d.data, pos) }

func (d *jsonDocument) kind(pos int) (field.Kind, error) {
	if pos >= len(d.data) {
		return field.Missing, io.ErrUnexpectedEOF
	}
	switch c := d.data[pos]; {
	case c == '{':
		return field.Map, nil
	case c == '[':
		return field.List, nil
	case c == '"':
		return field.Text, nil
	case c == 'n':
		return field.Null, nil
	case c == '-' || c-'0' <= 9:
		return field.Int, nil
	}
	return field.Extension, nil
}

func (d *jsonDocument) skip(pos int) (int, error) {
	end, err := json.SkipValue(d.data, pos)
	if err == nil && end == len(d.data) && d.data[end-1]|0x20 != '}' && d.data[end-1] != '"' {
		return 0, io.ErrUnexpectedEOF // a number or literal that may go on: an event is none
	}
	return end, err
}

func (d *jsonDocument) unexpected(pos int, want string) error {
	if pos >= len(d.data) {
		return io.ErrUnexpectedEOF
	}
	return syntax("json", pos, fmt.Sprintf("%q where %s should stand", d.data[pos], want))
}

func (d *jsonDocument) open(it *iterator, pos int) error {
	if pos = d.space(pos); pos >= len(d.data) || d.data[pos] != '{' && d.data[pos] != '[' {
		return d.unexpected(pos, "an object or a list")
	}
	*it = iterator{head: pos, body: pos + 1, end: pos + 1, left: -1, list: d.data[pos] == '['}
	return nil
}

func (d *jsonDocument) next(it *iterator) (bool, error) {
	if err := it.skipValue(d); err != nil {
		return false, err
	}
	closer := byte('}')
	if it.list {
		closer = ']'
	}
	pos := d.space(it.end)
	if pos < len(d.data) && d.data[pos] == closer {
		it.done = true
		return false, nil
	}
	if it.count > 0 {
		if pos >= len(d.data) || d.data[pos] != ',' {
			return false, d.unexpected(pos, fmt.Sprintf("a comma or %q", closer))
		}
		pos = d.space(pos + 1)
	}
	it.start, it.value, it.name = pos, pos, nil
	if it.list {
		if pos >= len(d.data) {
			return false, io.ErrUnexpectedEOF
		}
		return true, nil
	}
	return d.name(it, pos)
}

// name reads the name at pos, the colon and the white space before the value.
func (d *jsonDocument) name(it *iterator, pos int) (bool, error) {
	if pos >= len(d.data) || d.data[pos] != '"' {
		return false, d.unexpected(pos, "a name in quotes")
	}
	end, escaped, err := json.SkipString(d.data, pos+1)
	if err != nil {
		return false, err
	}
	if it.name = d.data[pos+1 : end]; escaped {
		if it.name, err = d.unescaped(pos, end); err != nil {
			return false, err
		}
	}
	if pos = d.space(end + 1); pos >= len(d.data) || d.data[pos] != ':' {
		return false, d.unexpected(pos, "a colon")
	}
	if it.value = d.space(pos + 1); it.value >= len(d.data) {
		return false, io.ErrUnexpectedEOF
	}
	return true, nil
}

func (d *jsonDocument) text(pos int) ([]byte, error) {
	if pos >= len(d.data) || d.data[pos] != '"' {
		return nil, d.unexpected(pos, "a text")
	}
	end, _, err := json.SkipString(d.data, pos+1)
	if err != nil {
		return nil, err
	}
	return d.unescaped(pos, end)
}

func (d *jsonDocument) integer(pos int) (int64, error) {
	end, err := d.skip(pos)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(d.data[pos:end]), 10, 64)
	if err != nil {
		return 0, syntax("json", pos, "no integer of 64 bits where EdgeX has one")
	}
	return n, nil
}

func (d *jsonDocument) appendText(dst []byte, text string) []byte { return json.AppendText(dst, text) }

func (d *jsonDocument) appendMap(dst []byte, _ int) []byte { return append(dst, '{') }

func (d *jsonDocument) appendEnd(dst []byte) []byte { return append(dst, '}') }

func (d *jsonDocument) appendName(dst []byte, name string, first bool) []byte {
	if !first {
		dst = append(dst, ',')
	}
	return append(json.AppendText(dst, name), ':')
}

func (d *jsonDocument) updateCount(*changes, *iterator, int) error { return nil }

// unescaped returns the text between the quotes at open and end. The text is a part of the message, or a copy if it has
// escapes.
func (d *jsonDocument) unescaped(open, end int) ([]byte, error) {
	raw := d.data[open+1 : end]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, nil
	}
	var text string
	if err := stdjson.Unmarshal(d.data[open:end+1], &text); err != nil {
		return nil, syntax("json", open, err.Error())
	}
	return []byte(text), nil
}
