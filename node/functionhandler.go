package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"example.com/ferry"
	"example.com/ferry/cpu"
	"example.com/ferry/cpu/worker"
	"example.com/ferry/node/config"
)

// prepare starts the backend, so that start finds it. A program that does not run, or a guest that does not compile, is an error
// here.
func (f *function) prepare(ctx context.Context) (err error) {
	f.change.Lock()
	defer f.change.Unlock()
	f.prepared, err = f.newBackend(ctx)
	return err
}

// discard ends what prepare has started.
func (f *function) discard() {
	f.change.Lock()
	defer f.change.Unlock()
	if f.prepared != nil {
		closeQuietly(f.prepared)
		f.prepared = nil
	}
}

// startBackend starts the backend, unless prepare has done so. change is held.
func (f *function) startBackend(ctx context.Context) (err error) {
	if f.backend, f.prepared = f.prepared, nil; f.backend == nil {
		f.backend, err = f.newBackend(ctx)
	}
	return err
}

// newBackend starts the processes of a worker, or an instance of a guest. It returns nil for a function of this program.
func (f *function) newBackend(ctx context.Context) (backend, error) {
	switch {
	case f.CPU == config.Worker:
		p, err := worker.Start(f.command())
		if err != nil {
			return nil, err // not a backend that is not nil
		}
		return p, nil
	case f.Wasm != "":
		p, err := f.startGuest(ctx)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
	return nil, nil
}

// handler returns the handler of the function's messages: a light function's own, a heavy function's on a token of the pool, the
// processes of a worker, or its pipeline. change is held.
func (f *function) handler() ferry.Handler {
	if f.CPU == config.Worker {
		return f.backend
	}
	if f.pipeline != nil {
		return f.pipeline
	}
	h := ferry.Handler(f.backend)
	for _, each := range f.node.extensions.Functions {
		if each.Name == f.Run {
			h = each.New()
		}
	}
	if f.Timeout > 0 && f.Wasm == "" {
		h = &timeoutHandler{f.Timeout, h}
	}
	if f.CPU == config.Heavy {
		h = &heavyHandler{f.Name, f.node.pool, h}
	}
	return h
}

// command returns the configuration of a worker's processes. As many calls run at once as there are processes, so a call waits
// only while a process is restarted.
func (f *function) command() worker.Config {
	command := f.Command
	if f.Run != "" {
		command = slices.Concat(f.node.extensions.Worker, []string{f.Run})
	}
	return worker.Config{
		Name: f.Name, Command: command, Workers: f.Processes, Queue: f.Processes, Deadline: f.Timeout,
		MaxMessage: int(f.node.config().Limits.MaxFrame), Stderr: &processOutput{f.node.log, f.Name},
	}
}

// heavyHandler calls a handler on a token of the node's pool. A call that waits for a token keeps its message, and so withholds
// the function's credit. The pool's queue holds all calls that can wait (config.CPU), so none is refused.
type heavyHandler struct {
	name string
	pool *cpu.Pool
	next ferry.Handler
}

// Handle waits for a token and calls the handler.
func (h *heavyHandler) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	_, err := cpu.Do(cpu.WithName(ctx, h.name), h.pool, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, h.next.Handle(ctx, in, yieldingSender{out})
	})
	return err
}

// yieldingSender gives the token back while a message that the handler sends waits for credit.
type yieldingSender struct{ ferry.Sender }

// Send first tries with a canceled context, with which a Sender does not wait. If that fails it waits without the token.
func (p yieldingSender) Send(ctx context.Context, m ferry.Message) error {
	if err := p.Sender.Send(canceled, m); !errors.Is(err, context.Canceled) {
		return err
	}
	return cpu.Blocking(ctx, func() error { return p.Sender.Send(ctx, m) })
}

var canceled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// timeoutHandler ends the context of a call that takes longer than its timeout.
type timeoutHandler struct {
	timeout time.Duration
	next    ferry.Handler
}

// Handle calls the handler.
func (l *timeoutHandler) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	err := l.next.Handle(ctx, in, out)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("node: the function took longer than %v: %w", l.timeout, err)
	}
	return err
}

// processOutput logs what a worker's processes print.
type processOutput struct {
	log  *slog.Logger
	name string
}

// Write logs b, which may be several lines.
func (p *processOutput) Write(b []byte) (int, error) {
	p.log.Info("function printed", "function", p.name, "text", strings.TrimRight(string(b), "\n"))
	return len(b), nil
}
