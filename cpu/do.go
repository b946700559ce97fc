package cpu

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError is the error of a job that panicked.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // of the goroutine, as runtime/debug.Stack returns it
}

// Error says with what and where.
func (e *PanicError) Error() string {
	return fmt.Sprintf("cpu: the job panicked: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns the error the job panicked with, if it was one.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Do waits for a token of p and runs f on the caller's goroutine. It returns what f returns; *PanicError if f panics; and
// where f did not run, the error of ctx if that ended first, or an error with ErrBusy or ErrClosed inside if p takes no more.
//
// f's context is ctx, with the job in it: f passes it to Checkpoint, Blocking and For. When ctx belongs to a job of p
// whose function has not returned, f runs at once as a part of that job, on its token. So pass the context on: a job that calls Do with another one
// waits for a second token while it holds the first.
func Do[T any](ctx context.Context, p *Pool, f func(context.Context) (T, error)) (T, error) {
	var none T
	if p == nil || f == nil {
		return none, errors.New("cpu: Do needs a pool and a function: one of them is nil")
	}
	if p.inside(ctx) {
		return call(ctx, p, f)
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	j := &Job{Context: ctx, pool: p, pc: entry(f)}
	if ctx.Done() != nil {
		j.ask.Store(1) // the first checkpoint begins to watch ctx: many a job ends before
	}
	if err := p.enter(j); err != nil {
		return none, err
	}
	defer func() {
		p.leave(j)
		if j.forget != nil {
			j.forget()
		}
	}()
	return call(j, p, f)
}

// call runs f and makes a panic an error.
func call[T any](ctx context.Context, p *Pool, f func(context.Context) (T, error)) (result T, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.mu.Lock()
			p.panics++
			p.mu.Unlock()
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f(ctx)
}
