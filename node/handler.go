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

// handler makes what handles the function's messages: its own handler, which a heavy function calls on a token of the
// pool, or the processes of a worker. change is held.
func (f *function) handler() (ferry.Handler, error) {
	if f.CPU == config.Worker {
		var err error
		f.processes, err = worker.Start(f.command())
		return f.processes, err
	}
	var h ferry.Handler
	for _, each := range f.node.extensions.Functions {
		if each.Name == f.Run {
			h = each.New()
		}
	}
	if f.Timeout > 0 {
		h = &limited{f.Timeout, h}
	}
	if f.CPU == config.Heavy {
		h = &heavy{f.Name, f.node.pool, h}
	}
	return h, nil
}

// command says what a worker's processes run. No call waits for one, as there are as many calls at once as processes, but
// while one is started again.
func (f *function) command() worker.Config {
	command := f.Command
	if f.Run != "" {
		command = slices.Concat(f.node.extensions.Worker, []string{f.Run})
	}
	return worker.Config{
		Name: f.Name, Command: command, Workers: f.Processes, Queue: f.Processes, Deadline: f.Timeout,
		MaxMessage: int(f.node.cfg.Limits.MaxFrame), Stderr: &printed{f.node.log, f.Name},
	}
}

// heavy calls a handler on a token of the node's pool. A call that waits for one keeps its message, and so withholds the
// function's credit; the queue holds all calls that can wait (config.CPU), so that none is refused.
type heavy struct {
	name string
	pool *cpu.Pool
	next ferry.Handler
}

// Handle waits for a token and calls the handler.
func (h *heavy) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	_, err := cpu.Do(cpu.WithName(ctx, h.name), h.pool, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, h.next.Handle(ctx, in, patient{out})
	})
	return err
}

// patient hands the token back while an answer waits for credit.
type patient struct{ ferry.Sender }

// Send tries first with a context that has ended: a Sender does not wait then.
func (p patient) Send(ctx context.Context, m ferry.Message) error {
	if err := p.Sender.Send(ended, m); !errors.Is(err, context.Canceled) {
		return err
	}
	return cpu.Blocking(ctx, func() error { return p.Sender.Send(ctx, m) })
}

var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// limited ends the context of a handler that takes longer than its timeout.
type limited struct {
	timeout time.Duration
	next    ferry.Handler
}

// Handle calls the handler.
func (l *limited) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	err := l.next.Handle(ctx, in, out)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("node: the function took longer than %v: %w", l.timeout, err)
	}
	return err
}

// printed logs what a worker's processes print.
type printed struct {
	log  *slog.Logger
	name string
}

// Write logs b, which may be several lines.
func (p *printed) Write(b []byte) (int, error) {
	p.log.Info("function printed", "function", p.name, "text", strings.TrimRight(string(b), "\n"))
	return len(b), nil
}
