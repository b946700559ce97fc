package operator

import (
	"errors"
	"fmt"
)

// ErrStopped is the error of a source's values after Stop, or after the run has ended.
var ErrStopped = errors.New("operator: the run has ended")

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
