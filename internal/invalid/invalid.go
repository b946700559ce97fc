// Package invalid collects the errors of a configuration. Each error names its field.
//
//	var es invalid.Errors
//	es.Add("route", "virtual_hosts[0].hosts", "none: name a host, or * for all others")
//	return es.Err()
package invalid

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The bounds of a duration in a configuration. A duration outside of the bounds most likely has a wrong unit or no unit.
const (
	MinDuration = time.Millisecond
	MaxDuration = 8760 * time.Hour // one year
)

// Error is one invalid value in a configuration.
type Error struct {
	Package string // name of the package that found the error
	Field   string // path of the field: virtual_hosts[0].routes[2].match.path
	Reason  string // what is wrong with the value, and what to write instead
}

// Error returns the text "package: field: reason".
func (e *Error) Error() string { return e.Package + ": " + e.Field + ": " + e.Reason }

// Errors are all errors in a configuration. Use Err to return them: an Errors without elements must not be returned as an
// error.
type Errors []*Error

// Error returns the errors, one in each line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the individual errors.
func (es Errors) Unwrap() []error {
	list := make([]error, len(es))
	for i, e := range es {
		list[i] = e
	}
	return list
}

// Err returns es as an error, or nil if es is empty.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	return es
}

// Add appends an error for a field.
func (es *Errors) Add(pkg, field, reason string, args ...any) {
	*es = append(*es, &Error{pkg, field, fmt.Sprintf(reason, args...)})
}

// AddDuration appends an error if d is positive and outside of MinDuration to MaxDuration, or less than -MaxDuration. The caller must check
// zero and other negative durations.
func (es *Errors) AddDuration(pkg, field string, d time.Duration) {
	switch {
	case d > MaxDuration:
		es.Add(pkg, field, "%v is too long: at most %v", d, MaxDuration)
	case d > 0 && d < MinDuration:
		es.Add(pkg, field, "%v is too short: at least %v", d, MinDuration)
	case d < -MaxDuration:
		es.Add(pkg, field, "%v: give at least %v", d, -MaxDuration)
	}
}

// AddAt appends errors that another package found in one part of the configuration. at is the path of that part, to which each
// field is appended after a dot. An error that is not Errors is an error of the field at.
func (es *Errors) AddAt(pkg, at string, err error) {
	var part Errors
	switch {
	case err == nil:
	case errors.As(err, &part):
		for _, e := range part {
			es.Add(pkg, at+"."+e.Field, "%s", e.Reason)
		}
	default:
		es.Add(pkg, at, "%v", err)
	}
}
