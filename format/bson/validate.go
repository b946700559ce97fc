package bson

import (
	"fmt"
	"io"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/keyset"
)

// Validate reads data once and gives nil only for one document of BSON 1.1 and nothing behind it, that consumers agree
// on: every length is exact, a bool is 0 or 1, keys and texts are UTF-8, no document holds a key twice, and the keys of
// an array are 0, 1, 2 and so on. Deprecated types are accepted, and binaries of any subtype; the scope of code counts as
// a level of nesting. More than 256 levels are refused even if Options.MaxDepth allows them.
func (Format) Validate(data []byte, o format.Options) error {
	v := validator{data: data, max: min(o.Depth(), maxNesting), strict: !o.BoundsOnly, keys: keys{data, o.FoldKeys}}
	c, err := open(data, 0, message.limit)
	if err != nil {
		return err
	}
	if c.end >= len(data) {
		return io.ErrUnexpectedEOF
	}
	if err := v.elements(typeDocument, c, 0); err != nil {
		return err
	}
	if behind := c.end + 1; behind < len(data) && !o.AllowTrailing {
		return syntax(behind, fmt.Sprintf("%d bytes behind the message", len(data)-behind))
	}
	return nil
}

type validator struct {
	data   []byte
	max    int
	strict bool
	keys   keys
	seen   keyset.Stack
}

// elements validates what the document or array c holds, which stands in depth others. All of it is in data.
func (v *validator) elements(typ byte, c container, depth int) error {
	if depth >= v.max {
		return tooDeep(c.pos-4, v.max)
	}
	unique := v.strict && typ == typeDocument // the keys of an array are unique by what they must be
	seen := v.seen.Open()
	pos, n := c.pos, 0
	for ; ; n++ {
		if typ == typeDocument {
			var passed int
			pos, passed = v.pass(&seen, pos, c)
			n += passed
		}
		more, err := c.more(v.data, pos)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		at := place{head: pos, limit: c.end}
		if at.value, err = c.value(v.data, pos); err != nil {
			return err
		}
		if err := v.key(typ, at, n); err != nil {
			return err
		}
		if unique {
			seen.Add(&v.seen, v.keys.hash(pos, at.value))
		}
		if pos, err = v.value(at, depth+1); err != nil {
			return err
		}
	}
	if !v.seen.Close(&seen) {
		if off := keyset.Duplicate(n, c.end-c.pos, v.keys.each(c), v.keys.same); off >= 0 {
			return v.twice(off)
		}
	}
	return nil
}

// key validates the key of element n.
func (v *validator) key(typ byte, at place, n int) error {
	if !v.strict {
		return nil
	}
	name := v.data[at.head+1 : at.value-1]
	if typ == typeDocument {
		return v.text(at.head+1, at.value-1)
	}
	var digits [20]byte
	if string(strconv.AppendInt(digits[:0], int64(n), 10)) != string(name) {
		return syntax(at.head+1, fmt.Sprintf("key %q of an array where %d should be", name, n))
	}
	return nil
}

// value validates the value at a place, and returns the offset behind it.
func (v *validator) value(at place, depth int) (int, error) {
	typ := v.data[at.head]
	if kinds[typ] == field.Missing {
		return 0, syntax(at.head, fmt.Sprintf("element of type 0x%02x, which there is not", typ))
	}
	end, err := skip(v.data, typ, at.value, at.limit)
	if err != nil {
		return 0, err
	}
	switch typ {
	case typeDocument, typeArray:
		err = v.elements(typ, container{at.value + 4, end - 1}, depth)
	case typeString, typeCode, typeSymbol:
		err = v.str(at.value, end)
	case typeDBPointer:
		err = v.str(at.value, end-pointed)
	case typeBool:
		if b := v.data[at.value]; b > 1 {
			err = syntax(at.value, fmt.Sprintf("bool of value 0x%02x: 0 is false and 1 is true", b))
		}
	case typeBinary:
		err = v.binary(at.value, end)
	case typeRegex:
		err = v.text(at.value, end)
	case typeCodeWithScope:
		err = v.withScope(at.value+4, end, depth)
	}
	return end, err
}
