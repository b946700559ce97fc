package wasm

import (
	"errors"
	"fmt"
	"strings"
)

// ErrClosed is the error of calls of a Pool that is closed.
var ErrClosed = errors.New("wasm: the pool is closed")

// ErrTimeout matches the error of a call that was ended because it took longer than Config.Timeout.
var ErrTimeout = errors.New("wasm: the call took longer than its timeout")

// CrashError says why an instance was ended. Its message failed.
type CrashError struct {
	Name   string // Config.Name
	Reason string // one line
	Err    error  // what ended it: of the runtime, ErrTimeout, or that of the context
}

// Error returns the text of e.
func (e *CrashError) Error() string { return fmt.Sprintf("wasm: %s crashed: %s", e.Name, e.Reason) }

// Unwrap returns Err.
func (e *CrashError) Unwrap() error { return e.Err }

// HandlerError is a failure that the guest has reported.
type HandlerError struct {
	Name   string // Config.Name
	Status int32  // what ferry_handle returned
	Text   string // what the guest passed to fail; may be empty
}

// Error returns the text of e.
func (e *HandlerError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("wasm: %s failed with status %d", e.Name, e.Status)
	}
	return fmt.Sprintf("wasm: %s failed: %s", e.Name, e.Text)
}

// crash returns the error of a call that the runtime has ended. p.mu is held.
func (i *instance) crash(err error) error {
	switch i.ended {
	case endedByTimeout:
		return &CrashError{i.pool.cfg.Name, fmt.Sprintf("it took longer than %v", i.limit), ErrTimeout}
	case endedByContext:
		return &CrashError{i.pool.cfg.Name, "its context ended", i.ctx.Err()}
	case endedByClose:
		return &CrashError{i.pool.cfg.Name, "the pool was closed", ErrClosed}
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	if _, frames, found := strings.Cut(err.Error(), "wasm stack trace:\n"); found {
		at, _, _ := strings.Cut(frames, "\n")
		reason += ", in " + strings.TrimSpace(at)
	}
	return &CrashError{i.pool.cfg.Name, reason, err}
}
