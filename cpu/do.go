package cpu

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError is the error of a job that panicked.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // stack of the goroutine, in the form of runtime/debug.Stack
}

// Error includes the value and the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("cpu: the job panicked: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns the panic's value if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Do waits for a token of p and runs f on the caller's goroutine. It returns the results of f, or *PanicError if f panics. If
// f did not run, the error is that of ctx, or wraps ErrBusy or ErrClosed.
//
// The context of f is ctx with the job in it. f passes this context to Checkpoint, Blocking and For. If ctx belongs to a
// running job of p, f runs immediately as part of that job, on its token. So pass the job's context on: a job that calls Do
// with another context waits for a second token while it holds the first.
func Do[T any](ctx context.Context, p *Pool, f func(context.Context) (T, error)) (T, error) {
	var none T
	if p == nil || f == nil {
		return none, errors.New("cpu: Do needs a pool and a function: one of them is nil")
	}
	if p.hasJob(ctx) {
		return call(ctx, p, f)
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	j := newJob(ctx)
	j.pool, j.pc = p, codeAddress(f)
	if ctx.Done() != nil {
		j.setDue() // the first checkpoint starts to watch ctx, because many jobs end before one
	}
	if err := p.acquireFirst(j); err != nil {
		return none, err
	}
	defer func() {
		p.finish(j)
		if j.stopContextWatch != nil {
			j.stopContextWatch()
		}
	}()
	return call(j, p, f)
}

// call runs f and turns a panic into an error.
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
