package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/node/admin"
	"example.com/ferry/node/live"
	"example.com/ferry/stream"
)

// startTimeout bounds how long a function may take to connect and be accepted.
const startTimeout = 10 * time.Second

// functions are the node's own, in a fixed order. It is admin.Functions.
type functions []*function

var _ admin.Functions = functions(nil)

// function is one function with a connection of its own while it runs.
type function struct {
	live.Function
	dial func(ctx context.Context, name string) (*stream.Client, error)

	change sync.Mutex // held while it is started or stopped, which may take startTimeout
	client *stream.Client

	mu      sync.Mutex // held for a moment
	running *stream.Running
	err     error // why it does not run, if nobody stopped it
}

// List returns the state of all functions.
func (fs functions) List() []admin.Function {
	list := make([]admin.Function, len(fs))
	for i, f := range fs {
		list[i] = f.state()
	}
	return list
}

// Start starts the named function.
func (fs functions) Start(name string) error {
	return fs.with(name, func(f *function) error { return f.start(context.Background()) })
}

// Stop stops the named function.
func (fs functions) Stop(name string) error {
	return fs.with(name, func(f *function) error { f.stop(); return nil })
}

func (fs functions) with(name string, do func(*function) error) error {
	for _, f := range fs {
		if f.Name == name {
			return do(f)
		}
	}
	return fmt.Errorf("%w: %s", admin.ErrNoFunction, name)
}

func (fs functions) startAll(ctx context.Context) error {
	for _, f := range fs {
		if err := f.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (fs functions) stopAll() {
	for _, f := range fs {
		f.stop()
	}
}

func (f *function) start(ctx context.Context) error {
	f.change.Lock()
	defer f.change.Unlock()
	if f.state().Running {
		return nil
	}
	f.end()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client, err := f.dial(ctx, f.Name)
	if err != nil {
		return f.set(nil, err)
	}
	running, err := client.Start(ctx, f.Function.Function)
	if err != nil {
		closing(client)
		return f.set(nil, err)
	}
	f.client = client
	return f.set(running, nil)
}

func (f *function) stop() {
	f.change.Lock()
	defer f.change.Unlock()
	f.end()
}

// end lets go of the connection; change is held.
func (f *function) end() {
	if f.client != nil {
		closing(f.client)
		f.client = nil
	}
	_ = f.set(nil, nil)
}

func (f *function) set(r *stream.Running, err error) error {
	if err != nil {
		err = fmt.Errorf("node: function %s: %w", f.Name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running, f.err = r, err
	return err
}

// state returns what the function does, and notes why it does not if it ended by itself.
func (f *function) state() admin.Function {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := admin.Function{Name: f.Name, Observe: f.Observe[0], Where: f.Where}
	if f.running != nil {
		select {
		case <-f.running.Done():
			f.err, f.running = f.running.Err(), nil
		default:
			s.Running = true
		}
	}
	if f.err != nil {
		s.Error = f.err.Error()
	}
	return s
}
