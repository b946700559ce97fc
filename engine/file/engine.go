package file

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/engine/archive"
	"example.com/ferry/engine/memory"
	"example.com/ferry/internal/atomicfile"
	"example.com/ferry/internal/filelock"
)

// Config configures an Engine.
type Config struct {
	// Dir is the directory of the streams. Open creates it.
	Dir string

	// Sync says when stored records are on the disk: engine.SyncAlways (also 0) or engine.SyncInterval.
	Sync engine.Sync

	// Interval is the time between two syncs with engine.SyncInterval. 0 means 1 s.
	Interval time.Duration

	// Log receives warnings and errors. nil means slog.Default.
	Log *slog.Logger
}

const (
	engineName      = "embedded" // as the configuration has it
	defaultInterval = time.Second
	configName      = "stream" // the file with the Config of a stream
	removedPrefix   = ".removed-"
	newPrefix       = ".new-"
)

// Engine keeps streams in files. Use Open.
type Engine struct {
	config Config
	lock   *filelock.Lock
	space  space
	memory *memory.Engine // has the streams that need not outlive the process

	mu       sync.Mutex // taken before the lock of a stream
	closed   bool
	streams  map[string]*stream
	volatile map[string]engine.Config // of the streams in memory
}

var (
	_ engine.Engine    = (*Engine)(nil)
	_ archive.Restorer = (*Engine)(nil)
)

// Open opens the directory. It returns when the streams that it has are recovered.
func Open(c Config) (*Engine, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Interval == 0 {
		c.Interval = defaultInterval
	}
	switch {
	case c.Dir == "":
		return nil, errors.New("engine: the file engine needs a directory")
	case c.Sync != 0 && c.Sync != engine.SyncAlways && c.Sync != engine.SyncInterval:
		return nil, fmt.Errorf("engine: sync %s: the file engine has always and interval", c.Sync)
	case c.Interval < 0:
		return nil, fmt.Errorf("engine: interval %s is negative", c.Interval)
	}
	if err := atomicfile.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("engine: directory of the streams: %w", err)
	}
	lock, err := filelock.Take(filepath.Join(c.Dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("engine: directory of the streams: %w", err)
	}
	e := &Engine{config: c, lock: lock, space: space{dir: c.Dir}, memory: memory.New(), streams: map[string]*stream{}, volatile: map[string]engine.Config{}}
	if err := e.load(); err != nil {
		e.release()
		return nil, errors.Join(err, lock.Close())
	}
	return e, nil
}

// load opens the streams of the directory.
func (e *Engine) load() error {
	entries, err := os.ReadDir(e.config.Dir)
	if err != nil {
		return fmt.Errorf("engine: directory of the streams: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(e.config.Dir, entry.Name())
		switch {
		case !entry.IsDir():
			continue
		case strings.HasPrefix(entry.Name(), removedPrefix), strings.HasPrefix(entry.Name(), newPrefix):
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("engine: what a process has left: %w", err)
			}
			continue
		}
		c, err := readConfig(filepath.Join(path, configName))
		if err != nil {
			return fmt.Errorf("engine: stream %s: %w", entry.Name(), err)
		}
		s, err := openStream(e, path, c)
		if err != nil {
			return fmt.Errorf("engine: stream %s: %w", entry.Name(), err)
		}
		e.streams[c.Name] = s
	}
	return nil
}

// release closes what load has opened.
func (e *Engine) release() {
	for _, s := range e.streams {
		_ = s.close(context.Background()) // it has nothing to store
	}
}

// Capabilities says that the engine stores one copy, in files.
func (e *Engine) Capabilities() engine.Capabilities {
	c := engine.Capabilities{Name: engineName, Durable: true, Sync: engine.SyncAlways, MaxReplicas: 1, Address: engineName}
	if e.config.Sync == engine.SyncInterval {
		c.Sync, c.Interval = engine.SyncInterval, e.config.Interval
	}
	return c
}

// Open creates the stream or changes its Config.
func (e *Engine) Open(ctx context.Context, c engine.Config) (engine.Stream, error) {
	c, err := effective(c)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.admit(c); err != nil {
		return nil, err
	}
	if c.InMemory {
		s, err := e.memory.Open(ctx, c)
		if err == nil {
			e.volatile[c.Name] = c
		}
		return s, err
	}
	if s := e.streams[c.Name]; s != nil {
		if err := writeConfig(filepath.Join(s.dir, configName), c); err != nil {
			return nil, fmt.Errorf("engine: stream %s: %w", c.Name, err)
		}
		return s, s.configure(c)
	}
	s, err := e.create(c, func(dir string) error { return writeConfig(filepath.Join(dir, configName), c) })
	if err != nil {
		return nil, fmt.Errorf("engine: stream %s: %w", c.Name, err)
	}
	return s, nil
}

// Stream returns a stream that exists.
func (e *Engine) Stream(ctx context.Context, name string) (engine.Stream, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, volatile := e.volatile[name]
	switch s := e.streams[name]; {
	case e.closed:
		return nil, engine.ErrClosed
	case volatile:
		return e.memory.Stream(ctx, name)
	case s == nil:
		return nil, engine.ErrNoStream
	default:
		return s, nil
	}
}

// admit returns an error if no stream with that Config may be opened beside the others. The caller holds the lock.
func (e *Engine) admit(c engine.Config) error {
	if e.closed {
		return engine.ErrClosed
	}
	_, file := e.streams[c.Name]
	_, volatile := e.volatile[c.Name]
	if file && c.InMemory || volatile && !c.InMemory {
		return &engine.UnsupportedError{Engine: engineName, Stream: c.Name, Field: "storage", Why: "the stream exists with another storage: remove it first, or give this one another name"}
	}
	for _, other := range e.streams {
		if err := c.CheckBeside(other.configured()); err != nil {
			return err
		}
	}
	for _, other := range e.volatile {
		if err := c.CheckBeside(other); err != nil {
			return err
		}
	}
	return nil
}

// effective returns c with its defaults, or says why a stream cannot have that Config.
func effective(c engine.Config) (engine.Config, error) {
	if err := c.Check(); err != nil {
		return c, err
	}
	if c.Replicas > 1 {
		return c, &engine.UnsupportedError{Engine: engineName, Stream: c.Name, Field: "replicas", Why: fmt.Sprintf("it stores 1 copy, not %d", c.Replicas)}
	}
	c.Tags = slices.Clone(c.Tags)
	c.Replicas = 1
	if c.DuplicateWindow == 0 {
		c.DuplicateWindow = engine.DefaultDuplicateWindow
	}
	return c, nil
}

// create makes a stream whose directory fill writes, complete or not at all. The caller holds the lock.
func (e *Engine) create(c engine.Config, fill func(dir string) error) (*stream, error) {
	temp, dir := filepath.Join(e.config.Dir, newPrefix+c.Name), filepath.Join(e.config.Dir, c.Name)
	err := os.RemoveAll(temp) // an earlier call could not
	if err == nil {
		err = os.Mkdir(temp, 0o700)
	}
	if err == nil {
		err = fill(temp)
	}
	if err == nil {
		err = os.Rename(temp, dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	var s *stream
	if err = atomicfile.SyncDir(e.config.Dir); err == nil {
		s, err = openStream(e, dir, c)
	}
	if err != nil {
		return nil, errors.Join(err, e.putAside(c.Name), e.removeAside(c.Name))
	}
	e.streams[c.Name] = s
	return s, nil
}

// putAside has the next start remove the directory of a stream. The caller holds the lock.
func (e *Engine) putAside(name string) error {
	aside := filepath.Join(e.config.Dir, removedPrefix+name)
	if err := os.RemoveAll(aside); err != nil { // an earlier call could not
		return err
	}
	return os.Rename(filepath.Join(e.config.Dir, name), aside)
}

// removeAside removes what putAside has renamed. The caller holds the lock.
func (e *Engine) removeAside(name string) error {
	return errors.Join(atomicfile.SyncDir(e.config.Dir), os.RemoveAll(filepath.Join(e.config.Dir, removedPrefix+name)))
}

// List returns the state of all streams, sorted by name.
func (e *Engine) List(ctx context.Context) ([]engine.Info, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, engine.ErrClosed
	}
	all, err := e.memory.List(ctx)
	if err != nil {
		return nil, err
	}
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
func (e *Engine) Delete(ctx context.Context, name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return engine.ErrClosed
	}
	if _, volatile := e.volatile[name]; volatile {
		delete(e.volatile, name)
		return e.memory.Delete(ctx, name)
	}
	s := e.streams[name]
	if s == nil {
		return engine.ErrNoStream
	}
	s.mu.Lock() // what fails because the files are gone finds s.err
	err := e.putAside(name)
	if err == nil {
		s.err = engine.ErrNoStream
	}
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("engine: stream %s: %w", name, err)
	}
	delete(e.streams, name)
	s.end()
	return e.removeAside(name)
}

// Close waits until the appended records are stored, or ctx ends, and closes the files.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	err := e.memory.Close(ctx)
	for _, s := range e.streams {
		s.refuse(engine.ErrClosed)
	}
	for _, s := range e.streams {
		err = errors.Join(err, s.close(ctx))
	}
	return errors.Join(err, e.lock.Close())
}
