package route

import (
	"fmt"

	"example.com/ferry/internal/invalid"
)

// Error is one thing wrong in a Config.
type Error = invalid.Error

// Errors is everything wrong in a Config. It is never empty.
type Errors = invalid.Errors

// place is where in a Config something stands.
type place string

func (p place) dot(name string) place { return p + "." + place(name) }
func (p place) index(i int) place     { return p + place(fmt.Sprintf("[%d]", i)) }

func (b *builder) add(at place, reason string, args ...any) {
	b.errs.Add("route", string(at), reason, args...)
}
