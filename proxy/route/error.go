package route

import (
	"strconv"

	"example.com/ferry/internal/invalid"
)

// Error is one error in a Config.
type Error = invalid.Error

// Errors is the list of all errors in a Config. It is never empty.
type Errors = invalid.Errors

// fieldPath is the path of a field in a Config. It is empty, with all paths below it, while a builder only looks for errors: a Config may have
// thousands of routes, and few have one.
type fieldPath string

func (p fieldPath) dot(name string) fieldPath {
	if p == "" {
		return ""
	}
	return p + "." + fieldPath(name)
}

func (p fieldPath) index(i int) fieldPath {
	if p == "" {
		return ""
	}
	return p + fieldPath("["+strconv.Itoa(i)+"]")
}

func (b *builder) addError(at fieldPath, reason string, args ...any) {
	b.errs.Add("route", string(at), reason, args...)
}
