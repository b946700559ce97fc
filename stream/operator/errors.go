package operator

import (
	"errors"
	"fmt"
)

// ErrStopped is the error of a source's values after Stop, after the run has ended, or when operators such as Take want no further ones.
var ErrStopped = errors.New("operator: no further values are taken")

// ErrDone is what the function of Each returns when it wants no further values: the stream ends without an error.
var ErrDone = errors.New("operator: the sink wants no further values")

// ErrTimeout is wrapped by the error of Timeout.
var ErrTimeout = errors.New("operator: no value in time")

// PanicError is a panic of a function that was passed to an operator. It ends the run.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the value and the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("operator: a function panicked: %v\n%s", e.Value, e.Stack)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// failure is the panic with which an operator ends the run. The operators of a chain return nothing, so that a value costs one call
// for each of them and no test.
type failure struct{ err error }

// failing handles the error of a value, or of a source, at a time. nil ends the run.
type failing func(err error, at int64)

func (f failing) handle(err error, at int64) {
	if f == nil {
		panic(failure{err})
	}
	f(err, at)
}

// catch connects a stream whose errors fail handles. Operators have learned from the scope what handles their errors when they are built, so
// an error passes by the operators between the two, and costs their values nothing.
func catch[T any](s *scope, in Stream[T], fail failing, to output[T]) upstream {
	outer := s.fail
	s.fail = fail
	u := in.connect(s, to)
	s.fail = outer
	return u
}
