package bson

import (
	"fmt"

	"example.com/ferry/format/internal/utf8check"
)

// validateString validates the string in data[pos:end]. The string begins with its length.
func (v *validator) validateString(pos, end int) error {
	if last := v.data[end-1]; last != 0 {
		return syntaxError(end-1, fmt.Sprintf("string that ends in 0x%02x and not in a NUL", last))
	}
	return v.validateText(pos+4, end-1)
}

// validateText refuses bytes that are not UTF-8 in data[start:end]. bsonspec.org 1.1, productions string and cstring.
func (v *validator) validateText(start, end int) error {
	if !v.strict {
		return nil
	}
	if bad := utf8check.Bad(v.data[start:end]); bad >= 0 {
		return syntaxError(start+bad, fmt.Sprintf("byte 0x%02x is not UTF-8, in a key or text", v.data[start+bad]))
	}
	return nil
}

// validateBinary validates the second length of a binary of subtype 2.
func (v *validator) validateBinary(pos, end int) error {
	if v.data[pos+4] != subtypeOldBinary {
		return nil
	}
	n, err := readLength(v.data, pos+5, end, 0, "binary of subtype 2")
	if err == nil && n != end-pos-9 {
		return syntaxError(pos+5, fmt.Sprintf("binary of subtype 2 whose second length is %d where %d bytes follow", n, end-pos-9))
	}
	return err
}

// validateCodeWithScope validates the code at pos and the scope after it. The scope must extend exactly to the offset
// end.
func (v *validator) validateCodeWithScope(pos, end, depth int) error {
	scope, err := skipValue(v.data, typeCode, pos, end)
	if err != nil {
		return err
	}
	if err := v.validateString(pos, scope); err != nil {
		return err
	}
	c, err := openContainer(v.data, scope, end)
	if err != nil {
		return err
	}
	if c.end+1 != end {
		return syntaxError(scope, fmt.Sprintf("scope of code ends %d bytes early", end-c.end-1))
	}
	return v.validateElements(typeDocument, c, depth)
}

func depthError(offset, limit int) error {
	return syntaxError(offset, fmt.Sprintf("nested deeper than %d levels", limit))
}
