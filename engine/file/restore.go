package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"example.com/ferry/engine"
	"example.com/ferry/engine/archive"
	"example.com/ferry/engine/internal/named"
	"example.com/ferry/engine/log"
)

const (
	restoreBytes = 1 << 20   // bytes of payload that are given to the log before they are stored
	maxGaps      = 1 << 36   // removed numbers between and behind the records of an archive: they take memory
	maxRestored  = 1<<63 - 1 // number of the last record
)

// Restore implements archive.Restorer. Of a stream in memory it makes nothing: its Open does.
func (e *Engine) Restore(ctx context.Context, a *archive.Reader) (archive.Restored, error) {
	c := a.Head.Config
	if c.Replicas > 1 {
		c.Replicas = 1
	}
	c, err := effective(c)
	if err != nil {
		return archive.Restored{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, volatile := e.volatile[c.Name]
	if !e.closed && (e.streams[c.Name] != nil || volatile) {
		return archive.Restored{}, engine.ErrExists
	}
	if err := e.admit(c); err != nil {
		return archive.Restored{}, err
	}
	if c.InMemory {
		return archive.Restored{}, nil
	}
	if _, err := e.create(c, func(dir string) error { return e.restore(ctx, dir, c, a) }); err != nil {
		return archive.Restored{}, fmt.Errorf("engine: stream %q: %w", c.Name, err)
	}
	return archive.Restored{}, nil
}

// restore writes the stream to a directory.
func (e *Engine) restore(ctx context.Context, dir string, c engine.Config, a *archive.Reader) error {
	if err := writeConfig(filepath.Join(dir, configName), c); err != nil {
		return err
	}
	bare := engine.Config{Name: c.Name, Tags: c.Tags, DuplicateWindow: c.DuplicateWindow, SharedIDs: c.SharedIDs} // nothing is removed yet
	s, err := openStream(e, dir, bare)
	if err != nil {
		return err
	}
	err = s.fill(ctx, a)
	return errors.Join(err, s.close(ctx))
}

// fill stores the cursors and records of an archive.
func (s *stream) fill(ctx context.Context, a *archive.Reader) error {
	s.mu.Lock()
	for _, c := range a.Cursors {
		s.named[c.Name] = &named.Cursor{CursorInfo: c, Dirty: true}
	}
	s.mu.Unlock()
	if a.Head.Last > maxRestored {
		return fmt.Errorf("its last number is %d, and may be up to %d", a.Head.Last, uint64(maxRestored))
	}
	size, next, gaps := 0, uint64(0), uint64(0)
	for {
		r, err := a.Next()
		end := errors.Is(err, io.EOF)
		if end {
			r.Sequence, err = a.Head.Last+1, nil
		} else if err == nil {
			err = log.Check(&r)
		}
		if err != nil {
			return err
		}
		if next > 0 { // what is removed before the first record takes no memory
			gaps += r.Sequence - next
		}
		if gaps > maxGaps {
			return fmt.Errorf("%d numbers are removed behind its first record, and may be up to %d", gaps, uint64(maxGaps))
		}
		if end {
			s.log.Discard(log.Range{First: next, Last: a.Head.Last})
			return s.settle(ctx)
		}
		next = r.Sequence + 1
		s.log.Insert(&r)
		if size += len(r.Payload) + len(r.Tag); size >= restoreBytes {
			if err := s.settle(ctx); err != nil {
				return err
			}
			size = 0
		}
	}
}
