package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"example.com/ferry/engine"
)

// DefaultMaxBytes bounds a stream whose Config.MaxBytes is 0.
const DefaultMaxBytes = 64 << 20

// engineName is the name of the engine in Capabilities and errors.
const engineName = "memory"

// Engine keeps streams in memory. Use New.
type Engine struct {
	completions completions

	mu      sync.Mutex // taken before the lock of a stream
	closed  bool
	streams map[string]*stream
}

var _ engine.Engine = (*Engine)(nil)

// New returns an engine without streams. It has no goroutine while no call of Append waits for its done.
func New() *Engine {
	e := &Engine{streams: map[string]*stream{}}
	e.completions.init()
	return e
}

// Capabilities says that the engine stores one copy, in memory.
func (e *Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{Name: engineName, Sync: engine.SyncNever, MaxReplicas: 1, Address: engineName}
}

// Open creates the stream or changes its Config. It refuses a Config that asks for more than one replica, and one without
// InMemory.
func (e *Engine) Open(_ context.Context, c engine.Config) (engine.Stream, error) {
	c, err := effective(c)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, engine.ErrClosed
	}
	for _, other := range e.streams {
		if err := c.CheckBeside(other.configured()); err != nil {
			return nil, err
		}
	}
	if s := e.streams[c.Name]; s != nil {
		s.configure(c)
		return s, nil
	}
	s := newStream(&e.completions, c)
	e.streams[c.Name] = s
	return s, nil
}

// Stream returns a stream that exists.
func (e *Engine) Stream(_ context.Context, name string) (engine.Stream, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch s := e.streams[name]; {
	case e.closed:
		return nil, engine.ErrClosed
	case s == nil:
		return nil, engine.ErrNoStream
	default:
		return s, nil
	}
}

// effective returns c with the bounds that apply, or says why a stream cannot have that Config.
func effective(c engine.Config) (engine.Config, error) {
	if err := c.Check(); err != nil {
		return c, err
	}
	refuse := func(field, why string) (engine.Config, error) {
		return c, &engine.UnsupportedError{Engine: engineName, Stream: c.Name, Field: field, Why: why}
	}
	switch {
	case !c.InMemory:
		return refuse("storage", "it stores records in memory only: choose storage memory, or another engine")
	case c.Replicas > 1:
		return refuse("replicas", fmt.Sprintf("it stores 1 copy, not %d", c.Replicas))
	}
	c.Tags = slices.Clone(c.Tags)
	c.Replicas = 1
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	if c.DuplicateWindow == 0 {
		c.DuplicateWindow = engine.DefaultDuplicateWindow
	}
	return c, nil
}

// List returns the state of all streams, sorted by name.
func (e *Engine) List(ctx context.Context) ([]engine.Info, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, engine.ErrClosed
	}
	all := make([]engine.Info, 0, len(e.streams))
	for _, s := range e.streams {
		info, err := s.Info(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b engine.Info) int { return strings.Compare(a.Config.Name, b.Config.Name) })
	return all, nil
}

// Delete removes a stream with its records and cursors.
func (e *Engine) Delete(_ context.Context, name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.streams[name]
	switch {
	case e.closed:
		return engine.ErrClosed
	case s == nil:
		return engine.ErrNoStream
	}
	delete(e.streams, name)
	s.end(engine.ErrNoStream)
	return nil
}

// Close waits until each done was called, or ctx ends. Then it removes all streams.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	for _, s := range e.streams {
		s.close()
	}
	e.mu.Unlock()

	err := e.completions.wait(ctx)

	e.mu.Lock()
	defer e.mu.Unlock()
	for name, s := range e.streams {
		s.end(engine.ErrClosed)
		delete(e.streams, name)
	}
	return err
}
