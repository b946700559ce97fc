package config

import (
	"fmt"
	"strings"
)

// Error is one thing wrong in a file. Its JSON has no line of the file.
type Error struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // from 1; 0 where the file as a whole is meant
	Column int    `json:"column,omitempty"`
	Field  string `json:"field,omitempty"` // listeners[0].address; empty for bad YAML
	Reason string `json:"reason"`          // what is wrong and what to write instead
	Source string `json:"-"`               // the line itself

	order int // of the file: 0 for the one that includes the others
}

// Error returns file:line:column: field: reason, and the line with a caret below.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Reason)
	if e.Source != "" {
		number := fmt.Sprintf("%5d | ", e.Line)
		pad := strings.Map(func(r rune) rune {
			if r == '\t' {
				return r
			}
			return ' '
		}, firstRunes(e.Source, e.Column-1))
		fmt.Fprintf(&b, "\n%s%s\n%s%s^", number, e.Source, strings.Repeat(" ", len(number)), pad)
	}
	return b.String()
}

// Errors is everything wrong in a configuration, in the order of its files and their lines. It is never empty.
type Errors []*Error

// Error returns one error after the other, each on its own lines.
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

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
