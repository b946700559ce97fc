package route

import (
	"fmt"
	"strings"
)

// Error is one thing wrong in a Config.
type Error struct {
	Field  string // where: virtual_hosts[0].routes[2].match.path
	Reason string // what is wrong, and what to write instead
}

// Error returns route: field: reason.
func (e *Error) Error() string { return "route: " + e.Field + ": " + e.Reason }

// Errors is everything wrong in a Config. It is never empty.
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

// place is where in a Config something stands.
type place string

func (p place) dot(name string) place { return p + "." + place(name) }
func (p place) index(i int) place     { return p + place(fmt.Sprintf("[%d]", i)) }

func (b *builder) add(at place, reason string, args ...any) {
	b.errs = append(b.errs, &Error{string(at), fmt.Sprintf(reason, args...)})
}
