package format

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
)

// SkipChildren is returned by a Visit to make Walk skip the content of a container.
var SkipChildren = errors.New("format: skip children")

// ErrExists is returned by Insert for a key that is already in its map.
var ErrExists = errors.New("format: the key is there already: replace its value instead")

// ErrWhole is returned by Delete for the empty path.
var ErrWhole = errors.New("format: the whole message cannot be deleted: name a value inside it")

// SyntaxError is where and why data is not a message of its format.
type SyntaxError struct {
	Format string // the Name of the Format
	Offset int    // in bytes from the start of data
	Field  string // the path of the value with the error, where known
	Reason string
}

func (e *SyntaxError) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("%s: %s at offset %d, in field %s", e.Format, e.Reason, e.Offset, e.Field)
	}
	return fmt.Sprintf("%s: %s at offset %d", e.Format, e.Reason, e.Offset)
}

// TypeError means that the value at a path cannot be read as, or replaced by, a value of another type.
type TypeError struct {
	Format string
	Have   field.Kind
	Want   field.Type // AnyType: no type would fit
	Reason string
}

func (e *TypeError) Error() string {
	if e.Want == field.AnyType {
		return fmt.Sprintf("%s: cannot use %v here: %s", e.Format, e.Have, e.Reason)
	}
	return fmt.Sprintf("%s: cannot use %v as %v: %s", e.Format, e.Have, e.Want, e.Reason)
}
