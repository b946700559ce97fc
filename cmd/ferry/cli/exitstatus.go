package cli

import (
	"errors"
	"fmt"
	"syscall"

	"example.com/ferry/field"
)

// Exit statuses. Scripts depend on them.
const (
	statusDone     = 0
	statusFailed   = 1   // the work failed
	statusUsage    = 2   // the command line or the configuration is wrong
	statusNotFound = 3   // the message has no such field
	statusKilled   = 130 // a second Ctrl-C: 128 + SIGINT, as a shell has it
)

// quietError is an exit status without a message: it was printed before, or the reader of the output is gone.
type quietError int

func (e quietError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is an error of the command line that is found after parsing.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(text string, args ...any) error { return usageError{fmt.Errorf(text, args...)} }

// statusOf returns the exit status for err.
func statusOf(err error) int {
	var usage usageError
	var quiet quietError
	switch {
	case err == nil:
		return statusDone
	case errors.As(err, &quiet):
		return int(quiet)
	case errors.Is(err, field.ErrNotFound):
		return statusNotFound
	case errors.As(err, &usage):
		return statusUsage
	}
	return statusFailed
}

// outputError returns status 0 for a closed pipe, as programs in a pipeline do.
func outputError(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return quietError(statusDone)
	}
	return fmt.Errorf("cannot write the output: %w", err)
}
