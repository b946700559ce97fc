package worker

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrBusy means that Config.Queue calls already wait. Try later, or run more workers.
	ErrBusy = errors.New("worker: busy")

	// ErrClosed means that the Pool is closed.
	ErrClosed = errors.New("worker: pool closed")

	// ErrDeadline means that a message was not handled within Config.Deadline.
	ErrDeadline = errors.New("worker: deadline exceeded")

	// ErrDied means that the process ended before the message was handled. It is always wrapped in a *DiedError.
	ErrDied = errors.New("worker: process died")

	// ErrTooLarge means that a message exceeds Config.MaxMessage.
	ErrTooLarge = errors.New("worker: message too large")
)

// DiedError means that a process ended while it handled a message, or before it was ready for one. It unwraps to
// ErrDied and Cause.
type DiedError struct {
	Name    string   // Config.Name
	Command []string // program and arguments
	PID     int      // process id; 0 if the program could not be started
	Status  string   // how the process ended: "exit status 2", "signal: killed"
	Cause   error    // why the process was killed: ErrDeadline, ErrClosed, the context's error, *ProtocolError; nil if it died by itself
	Stderr  string   // end of the process's output, at most 2 KiB
	Begun   bool     // the handler may have seen the message; only the caller knows whether a retry is safe
	started bool     // the process had sent its HELLO
}

func (e *DiedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "worker: %s", e.Name)
	if e.PID != 0 {
		fmt.Fprintf(&b, " (process %d)", e.PID)
	}
	switch {
	case e.Begun:
		b.WriteString(" died while it handled a message")
	case e.started:
		b.WriteString(" died before it was given a message")
	default:
		fmt.Fprintf(&b, " did not start as a worker: the program %q has to call worker.Serve", e.Command)
	}
	if e.Status != "" {
		fmt.Fprintf(&b, ": %s", e.Status)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	if e.Stderr != "" {
		fmt.Fprintf(&b, "; it printed last: %q", e.Stderr)
	}
	return b.String()
}

// Unwrap returns ErrDied and Cause.
func (e *DiedError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrDied}
	}
	return []error{ErrDied, e.Cause}
}

// HandlerError is the error that the handler in the process returned, or the handler's panic. The process continues.
type HandlerError struct {
	Text  string // text of the error, or value and stack of the panic; at most 8 KiB
	Panic bool
}

func (e *HandlerError) Error() string {
	if e.Panic {
		return "worker: handler panicked: " + e.Text
	}
	return "worker: handler: " + e.Text
}

// ProtocolError is a violation of the protocol in docs/worker.md.
type ProtocolError struct{ Reason string }

func (e *ProtocolError) Error() string { return "worker: protocol: " + e.Reason }
