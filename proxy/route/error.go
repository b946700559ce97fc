package route

import (
	"fmt"

	"example.com/ferry/internal/invalid"
)

// Error is one error in a Config.
type Error = invalid.Error

// Errors is the list of all errors in a Config. It is never empty.
type Errors = invalid.Errors

// fieldPath is the path of a field in a Config.
type fieldPath string

func (p fieldPath) dot(name string) fieldPath { return p + "." + fieldPath(name) }
func (p fieldPath) index(i int) fieldPath     { return p + fieldPath(fmt.Sprintf("[%d]", i)) }

func (b *builder) addError(at fieldPath, reason string, args ...any) {
	b.errs.Add("route", string(at), reason, args...)
}
