package format

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
)

// SkipChildren is what a Visit returns for a container to have Walk go on behind it.
var SkipChildren = errors.New("format: skip children")

// ErrExists is what Insert returns for a key that its map holds already.
var ErrExists = errors.New("format: the key is there already: replace its value instead")

// ErrWhole is what Delete returns for the empty path.
var ErrWhole = errors.New("format: the whole message cannot be deleted: name a value inside it")

// SyntaxError says where and why data is not a message of its format.
type SyntaxError struct {
	Format string // the Name of the Format
	Offset int    // in bytes from the start of data
	Field  string // the path of the value it stands in, where known
	Reason string
}

func (e *SyntaxError) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("%s: %s at offset %d, in field %s", e.Format, e.Reason, e.Offset, e.Field)
	}
	return fmt.Sprintf("%s: %s at offset %d", e.Format, e.Reason, e.Offset)
}

// TypeError says that the value at a path cannot be read as, or replaced by, a value of another type.
type TypeError struct {
	Format string
	Have   field.Kind
	Want   field.Type // AnyType: none would do
	Reason string
}

func (e *TypeError) Error() string {
	if e.Want == field.AnyType {
		return fmt.Sprintf("%s: cannot use %v here: %s", e.Format, e.Have, e.Reason)
	}
	return fmt.Sprintf("%s: cannot use %v as %v: %s", e.Format, e.Have, e.Want, e.Reason)
}
