package format

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
)

// SkipChildren tells Walk to skip the content of a container. A Visit function returns it.
var SkipChildren = errors.New("format: skip children")

// ErrExists means that Insert found the new key already in the map.
var ErrExists = errors.New("format: the key is there already: replace its value instead")

// ErrWhole means that Delete was called with the empty path.
var ErrWhole = errors.New("format: the whole message cannot be deleted: name a value inside it")

// SyntaxError tells where and why data is not a valid message of a format.
type SyntaxError struct {
	Format string // Name of the Format
	Offset int    // offset of the error in bytes from the start of data
	Field  string // path of the malformed value; empty if it is not known
	Reason string
}

func (e *SyntaxError) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("%s: %s at offset %d, in field %s", e.Format, e.Reason, e.Offset, e.Field)
	}
	return fmt.Sprintf("%s: %s at offset %d", e.Format, e.Reason, e.Offset)
}

// TypeError means that the value at a path cannot be read as the wanted type, or cannot be replaced by a value of that
// type.
type TypeError struct {
	Format string
	Have   field.Kind
	Want   field.Type // AnyType if no type would fit
	Reason string
}

func (e *TypeError) Error() string {
	if e.Want == field.AnyType {
		return fmt.Sprintf("%s: cannot use %v here: %s", e.Format, e.Have, e.Reason)
	}
	return fmt.Sprintf("%s: cannot use %v as %v: %s", e.Format, e.Have, e.Want, e.Reason)
}
