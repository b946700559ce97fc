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

// quietError is a status whose reason was told already, or has nobody left to be told to.
type quietError int

func (e quietError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is a mistake on the command line that only shows once its words meet their input.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(text string, args ...any) error { return usageError{fmt.Errorf(text, args...)} }

// statusOf is the exit status that tells err.
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

// outputError makes a closed pipe the quiet end that it is to every program in a pipeline.
func outputError(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return quietError(statusDone)
	}
	return fmt.Errorf("cannot write the output: %w", err)
}
