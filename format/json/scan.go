package json

// SkipSpace returns the offset of the first byte at or after pos that is not white space. RFC 8259, section 2.
func SkipSpace(data []byte, pos int) int { return skipSpace(data, pos) }

// SkipString returns the offset of the closing quote of a string, and whether the string has a backslash. The content of the
// string begins at pos. A string without an end gives io.ErrUnexpectedEOF. The content is not checked.
func SkipString(data []byte, pos int) (end int, escaped bool, err error) {
	return skipString(data, pos)
}

// SkipValue returns the offset after the value at pos, before which there is no white space. It looks only for strings and
// brackets: Validate checks the rest. A string or container without an end gives io.ErrUnexpectedEOF. A number or literal
// ends at a bracket, comma, colon or white space, or with data.
func SkipValue(data []byte, pos int) (int, error) { return skipValue(data, pos) }

// CheckValue is SkipValue for a value that must be valid, as Validate with BoundsOnly judges it.
func CheckValue(data []byte, pos int) (int, error) {
	v := validator{data: data, maxDepth: maxNesting}
	return v.validateValue(pos, 0)
}
