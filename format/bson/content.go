package bson

import (
	"fmt"

	"example.com/ferry/format/internal/utf8check"
)

// str validates the string at pos, with its length, that ends at end.
func (v *validator) str(pos, end int) error {
	if last := v.data[end-1]; last != 0 {
		return syntax(end-1, fmt.Sprintf("string that ends in 0x%02x and not in a NUL", last))
	}
	return v.text(pos+4, end-1)
}

// text refuses what is not UTF-8 in data[start:end]. bsonspec.org 1.1, productions string and cstring.
func (v *validator) text(start, end int) error {
	if !v.strict {
		return nil
	}
	if bad := utf8check.Bad(v.data[start:end]); bad >= 0 {
		return syntax(start+bad, fmt.Sprintf("byte 0x%02x is not UTF-8, in a key or text", v.data[start+bad]))
	}
	return nil
}

// binary validates the second length that the old subtype has.
func (v *validator) binary(pos, end int) error {
	if v.data[pos+4] != oldBinary {
		return nil
	}
	n, err := length(v.data, pos+5, end, 0, "binary of subtype 2")
	if err == nil && n != end-pos-9 {
		return syntax(pos+5, fmt.Sprintf("binary of subtype 2 whose second length is %d where %d bytes follow", n, end-pos-9))
	}
	return err
}

// withScope validates the code at pos and the scope that must end at end.
func (v *validator) withScope(pos, end, depth int) error {
	scope, err := skip(v.data, typeCode, pos, end)
	if err != nil {
		return err
	}
	if err := v.str(pos, scope); err != nil {
		return err
	}
	c, err := open(v.data, scope, end)
	if err != nil {
		return err
	}
	if c.end+1 != end {
		return syntax(scope, fmt.Sprintf("scope of code ends %d bytes early", end-c.end-1))
	}
	return v.elements(typeDocument, c, depth)
}

func tooDeep(offset, limit int) error {
	return syntax(offset, fmt.Sprintf("nested deeper than %d levels", limit))
}
