package bson

import (
	"fmt"
	"io"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/keyset"
)

// Validate reads data once. It returns nil only if data is exactly one document of BSON 1.1 that all consumers read the
// same way. Every length must be exact. A bool must be 0 or 1. Keys and texts must be UTF-8. The keys of a document
// must be unique. The keys of an array must be 0, 1, 2 and so on. Deprecated types and all subtypes of binaries are
// accepted. The scope of a code value counts as a level of nesting. More than 256 levels are refused even if
// Options.MaxDepth allows them.
func (Format) Validate(data []byte, o format.Options) error {
	v := validator{data: data, maxDepth: min(o.Depth(), maxNesting), strict: !o.BoundsOnly, keys: elementKeys{data, o.FoldKeys}}
	c, err := openContainer(data, 0, wholeMessage.limit)
	if err != nil {
		return err
	}
	if c.end >= len(data) {
		return io.ErrUnexpectedEOF
	}
	if err := v.validateElements(typeDocument, c, 0); err != nil {
		return err
	}
	if after := c.end + 1; after < len(data) && !o.AllowTrailing {
		return syntaxError(after, fmt.Sprintf("%d bytes behind the message", len(data)-after))
	}
	return nil
}

type validator struct {
	data     []byte
	maxDepth int
	strict   bool
	keys     elementKeys
	seen     keyset.Stack
}

// validateElements validates the elements of the document or array c. depth is the number of containers around c. data
// must contain all of c.
func (v *validator) validateElements(typ byte, c container, depth int) error {
	if depth >= v.maxDepth {
		return depthError(c.pos-4, v.maxDepth)
	}
	unique := v.strict && typ == typeDocument // the keys of an array are compared with the indices instead
	seen := v.seen.Open()
	pos, n := c.pos, 0
	for ; ; n++ {
		if typ == typeDocument {
			var passed int
			pos, passed = v.validateFast(&seen, pos, c)
			n += passed
		}
		more, err := c.hasElement(v.data, pos)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		at := valuePlace{head: pos, limit: c.end}
		if at.value, err = c.valueOffset(v.data, pos); err != nil {
			return err
		}
		if err := v.validateKey(typ, at, n); err != nil {
			return err
		}
		if unique {
			seen.Add(&v.seen, v.keys.keyHash(pos, at.value))
		}
		if pos, err = v.validateValue(at, depth+1); err != nil {
			return err
		}
	}
	if !v.seen.Close(&seen) {
		if off := keyset.Duplicate(n, c.end-c.pos, v.keys.offsetsAndHashes(c), v.keys.equalKeys); off >= 0 {
			return v.duplicateKeyError(off)
		}
	}
	return nil
}

// validateKey validates the key of element n in a container of type typ.
func (v *validator) validateKey(typ byte, at valuePlace, n int) error {
	if !v.strict {
		return nil
	}
	name := v.data[at.head+1 : at.value-1]
	if typ == typeDocument {
		return v.validateText(at.head+1, at.value-1)
	}
	var digits [20]byte
	if string(strconv.AppendInt(digits[:0], int64(n), 10)) != string(name) {
		return syntaxError(at.head+1, fmt.Sprintf("key %q of an array where %d should be", name, n))
	}
	return nil
}

// validateValue validates one value and returns the offset after the value.
func (v *validator) validateValue(at valuePlace, depth int) (int, error) {
	typ := v.data[at.head]
	if kindByType[typ] == field.Missing {
		return 0, syntaxError(at.head, fmt.Sprintf("element of type 0x%02x, which there is not", typ))
	}
	end, err := skipValue(v.data, typ, at.value, at.limit)
	if err != nil {
		return 0, err
	}
	switch typ {
	case typeDocument, typeArray:
		err = v.validateElements(typ, container{at.value + 4, end - 1}, depth)
	case typeString, typeCode, typeSymbol:
		err = v.validateString(at.value, end)
	case typeDBPointer:
		err = v.validateString(at.value, end-objectIDSize)
	case typeBool:
		if b := v.data[at.value]; b > 1 {
			err = syntaxError(at.value, fmt.Sprintf("bool of value 0x%02x: 0 is false and 1 is true", b))
		}
	case typeBinary:
		err = v.validateBinary(at.value, end)
	case typeRegex:
		err = v.validateText(at.value, end)
	case typeCodeWithScope:
		err = v.validateCodeWithScope(at.value+4, end, depth)
	}
	return end, err
}
