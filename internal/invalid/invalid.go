// Package invalid collects the errors of a configuration, each with its field.
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

// The bounds of a time in a configuration. One outside of them most likely has a wrong unit, or none.
const (
	MinDuration = time.Millisecond
	MaxDuration = 8760 * time.Hour // a year
)

// Error is one thing wrong in a configuration.
type Error struct {
	Package string // that found it
	Field   string // where: virtual_hosts[0].routes[2].match.path
	Reason  string // what is wrong, and what to write instead
}

// Error returns package: field: reason.
func (e *Error) Error() string { return e.Package + ": " + e.Field + ": " + e.Reason }

// Errors is everything wrong in a configuration. As an error it is never empty: see Err.
type Errors []*Error

// Error returns one error a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the single errors.
func (es Errors) Unwrap() []error {
	list := make([]error, len(es))
	for i, e := range es {
		list[i] = e
	}
	return list
}

// Err is es as an error: nil if it is empty.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	return es
}

// Add notes that something is wrong at a field.
func (es *Errors) Add(pkg, field, reason string, args ...any) {
	*es = append(*es, &Error{pkg, field, fmt.Sprintf(reason, args...)})
}

// AddDuration notes a positive time that is not within MinDuration and MaxDuration. What zero and negative times mean is for the
// caller.
func (es *Errors) AddDuration(pkg, field string, d time.Duration) {
	switch {
	case d > MaxDuration:
		es.Add(pkg, field, "%v is too long: at most %v", d, MaxDuration)
	case d > 0 && d < MinDuration:
		es.Add(pkg, field, "%v is too short: at least %v", d, MinDuration)
	}
}

// AddAt notes what another package found in the part of the configuration that at names. Fields are joined by a dot; an error
// that is not Errors is about at itself.
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
