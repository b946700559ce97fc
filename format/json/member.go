package json

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
)

// member is the position of one name and its value in an object.
type member struct {
	key, keyEnd int  // offsets of the name without its quotes
	escaped     bool // the name has escapes
	value       int  // offset of the value; 0 at the end of the object
	next        int  // offset after the closing brace; set only at the end of the object
}

// findMember returns the next member whose name is in names, a set of field.NameBit. It may also return a member that
// skipMembers cannot skip.
func findMember(data []byte, pos int, first bool, names uint64) (member, error) {
	stop, key, end := skipMembers(data, pos, first, names)
	if end == 0 {
		return readMember(data, stop, first && stop == pos)
	}
	if end+2 < len(data) && data[end+1] == ':' && data[end+2] > ' ' {
		return member{key: key, keyEnd: end, value: end + 2}, nil
	}
	value, err := skipColon(data, end+1)
	return member{key: key, keyEnd: end, value: value}, err
}

// readMember reads the member at pos. If first is set, pos is after the opening brace, otherwise after a value.
func readMember(data []byte, pos int, first bool) (member, error) {
	at := pos
	if !first && at < len(data) && data[at] == ',' {
		at++
	}
	if first == (at == pos) && at < len(data) && data[at] == '"' {
		for end := at + 1; end+8 <= len(data); end += 8 {
			w := binary.LittleEndian.Uint64(data[end:])
			hit := quotesAndBackslashes(w)
			if hit == 0 {
				continue
			}
			end += bits.TrailingZeros64(hit) / 8
			if data[end] == '"' && end+2 < len(data) && data[end+1] == ':' && data[end+2] > ' ' {
				return member{key: at + 1, keyEnd: end, value: end + 2}, nil
			}
			break
		}
	}
	return readSpacedMember(data, pos, first)
}

// readSpacedMember is readMember for the less common cases: a name with escapes or with white space around it, and the
// end of the object.
func readSpacedMember(data []byte, pos int, first bool) (member, error) {
	pos, end, err := readSeparator(data, pos, first, '}')
	if err != nil || end {
		return member{next: pos}, err
	}
	if data[pos] != '"' {
		return member{}, unexpectedByte(data, pos, "a name in quotes")
	}
	m := member{key: pos + 1}
	if m.keyEnd, m.escaped, err = skipString(data, m.key); err != nil {
		return m, err
	}
	m.value, err = skipColon(data, m.keyEnd+1)
	return m, err
}

// skipColon returns the offset of a value. pos is the offset after the value's name.
func skipColon(data []byte, pos int) (int, error) {
	if pos < len(data) && data[pos] <= ' ' {
		pos = skipSpace(data, pos)
	}
	if pos >= len(data) {
		return 0, io.ErrUnexpectedEOF
	}
	if data[pos] != ':' {
		return 0, unexpectedByte(data, pos, "a colon")
	}
	pos++
	if pos < len(data) && data[pos] <= ' ' {
		pos = skipSpace(data, pos)
	}
	if pos >= len(data) {
		return 0, io.ErrUnexpectedEOF
	}
	return pos, nil
}

// readSeparator skips the comma before a member or item. If first is set, no comma is skipped. At the end of the
// container it returns true and the offset after the container. bracket is the closing bracket.
func readSeparator(data []byte, pos int, first bool, bracket byte) (int, bool, error) {
	if pos < len(data) && data[pos] <= ' ' {
		pos = skipSpace(data, pos)
	}
	if pos >= len(data) {
		return 0, false, io.ErrUnexpectedEOF
	}
	if data[pos] == bracket {
		return pos + 1, true, nil
	}
	if first {
		return pos, false, nil
	}
	if data[pos] != ',' {
		return 0, false, unexpectedByte(data, pos, fmt.Sprintf("a comma or %q", bracket))
	}
	pos++
	if pos < len(data) && data[pos] <= ' ' {
		pos = skipSpace(data, pos)
	}
	if pos >= len(data) {
		return 0, false, io.ErrUnexpectedEOF
	}
	return pos, false, nil
}

// hasName reports whether the name of m is name.
func (m member) hasName(data []byte, name string) bool {
	if m.escaped {
		return equalUnescaped(data[m.key:m.keyEnd], name)
	}
	return m.keyEnd-m.key == len(name) && string(data[m.key:m.keyEnd]) == name
}

// name returns the unescaped name of m: a part of data, or a copy if the name has escapes.
func (m member) name(data []byte) []byte {
	if !m.escaped {
		return data[m.key:m.keyEnd]
	}
	return unescape(make([]byte, 0, m.keyEnd-m.key), data[m.key:m.keyEnd])
}
