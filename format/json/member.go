package json

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
)

// member is one name and value of an object.
type member struct {
	key, keyEnd int // the name without its quotes
	escaped     bool
	value       int // the offset of the value; 0: the object ends
	next        int // behind the closing brace, if it ends
}

// findMember is memberAt for the next member that may be wanted, by the field.NameBit of its name, or that pass does not pass.
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

// readMember reads the name at pos, which is behind the opening brace or, if not first, behind a value.
func readMember(data []byte, pos int, first bool) (member, error) {
	at := pos
	if !first && at < len(data) && data[at] == ',' {
		at++
	}
	if first == (at == pos) && at < len(data) && data[at] == '"' {
		for end := at + 1; end+8 <= len(data); end += 8 {
			w := binary.LittleEndian.Uint64(data[end:])
			hit := tokenEnds(w)
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

// readSpacedMember is memberAt for a name that has white space around it, or escapes in it, and for the end of the object.
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

// skipColon returns the offset of the value of a name that ends before pos.
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

// readSeparator passes what stands before a member or an item: nothing before the first, a comma before the others. If the
// container ends there, it returns true and the offset behind it.
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

// is reports whether name is m's.
func (m member) is(data []byte, name string) bool {
	if m.escaped {
		return equalUnescaped(data[m.key:m.keyEnd], name)
	}
	return m.keyEnd-m.key == len(name) && string(data[m.key:m.keyEnd]) == name
}

// name is m's name with its escapes undone: a part of data, or a copy if it has any.
func (m member) name(data []byte) []byte {
	if !m.escaped {
		return data[m.key:m.keyEnd]
	}
	return unescape(make([]byte, 0, m.keyEnd-m.key), data[m.key:m.keyEnd])
}
