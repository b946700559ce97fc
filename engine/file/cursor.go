package file

import (
	"context"
	"errors"
	"slices"
	"sync"

	"example.com/ferry/engine"
	"example.com/ferry/engine/internal/named"
	"example.com/ferry/engine/log"
)

// cursor reads a stream.
type cursor struct {
	stream *stream
	named  *named.Cursor // nil for an unnamed cursor
	woken  chan struct{} // has one place: a record was stored, or the cursor has ended

	reading sync.Mutex // held by Next; taken before the lock of the stream
	reader  *log.Reader
	tags    *tags
	began   engine.Position
	done    []engine.Range // to skip, those that end before what comes next excepted
	records []engine.Record
	held    log.View            // that did not fit in the last call; of number 0 if there is none
	failed  error               // of the last call, which returned records
	limit   int                 // of the call, in records
	room    int                 // bytes of payload that the call may still return
	takes   func(log.View) bool // take; a stored func value passes it without an allocation

	waiting bool  // in stream.waiting. The lock of the stream guards it
	err     error // why the cursor has ended. The lock of the stream guards it
}

var _ engine.Cursor = (*cursor)(nil)

// Next returns records whose payloads are parts of the buffer that the file was read to.
func (c *cursor) Next(ctx context.Context, limit, bytes int) ([]engine.Record, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	clear(c.records)
	c.records = c.records[:0]
	for {
		if err := c.ended(); err != nil {
			c.reader.Close()
			return nil, err
		}
		err := c.read(ctx, max(limit, 1), bytes)
		if len(c.records) > 0 {
			c.failed = err
			return c.records, nil
		}
		var damage *log.DamageError
		switch {
		case errors.As(err, &damage):
			return nil, c.stream.corrupt(damage.Sequence)
		case err != nil && !errors.Is(err, errEnd):
			return nil, c.stream.cause(err)
		case err == nil || !c.await():
			continue
		}
		c.reader.Rest()
		select {
		case <-c.woken:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ended returns why the cursor has ended. Records that are too old are removed first.
func (c *cursor) ended() error {
	s := c.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.err == nil && s.err == nil {
		s.expire()
	}
	return c.err
}

// await has the cursor woken by the next record. It returns false if there is one already.
func (c *cursor) await() bool {
	s := c.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.err != nil || s.log.State().Last >= c.reader.Next() {
		return false
	}
	if !c.waiting {
		c.waiting = true
		s.waiting = append(s.waiting, c)
	}
	return true
}

// read gathers records that match until the buffer is used up. An error behind some records is returned by the next call.
func (c *cursor) read(ctx context.Context, limit, bytes int) error {
	if err := c.failed; err != nil {
		c.failed = nil
		var damage *log.DamageError
		if errors.As(err, &damage) {
			return err
		}
	}
	c.limit, c.room = limit, bytes
	if v := c.held; v.Sequence() > 0 {
		c.held = log.View{}
		c.take(v)
	}
	for n := 0; c.held.Sequence() == 0 && len(c.records) < limit; n++ {
		if n%16 == 15 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if len(c.records) == 0 {
				return nil // Next looks whether the cursor has ended
			}
		}
		v, err := c.reader.Read(len(c.records) == 0)
		if err != nil {
			return err
		}
		if c.take(v) {
			c.reader.Buffered(c.takes)
		}
	}
	return nil
}

// take gathers a record that matches. It returns false if there is no room for the record, or none for another one.
func (c *cursor) take(v log.View) (more bool) {
	tag, ok := c.tags.match(v.Tag())
	if !ok || engine.Pass(&c.done, v.Sequence()) {
		return true
	}
	size := v.PayloadSize()
	if len(c.records) > 0 && size > c.room {
		c.held = v
		return false
	}
	c.room -= size
	c.records = append(c.records, v.Record(tag))
	return len(c.records) < c.limit
}

// Position returns what the cursor began with.
func (c *cursor) Position() engine.Position { return c.began }

// Commit stores the Position of a named cursor.
func (c *cursor) Commit(p engine.Position) {
	s := c.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.named != nil && c.err == nil {
		c.named.Position, c.named.Dirty = p.Clone(), true
		s.positions.changed(s)
	}
}

// Close ends the cursor. The position of a named one is on the disk then.
func (c *cursor) Close(context.Context) error {
	s := c.stream
	s.mu.Lock()
	open := c.err == nil
	if open {
		c.lose(engine.ErrClosed)
	}
	s.mu.Unlock()
	c.reading.Lock()
	c.reader.Close()
	c.reading.Unlock()
	if !open || c.named == nil {
		return nil
	}
	err := s.cause(s.positions.flush(s, true))
	s.mu.Lock()
	defer s.mu.Unlock()
	c.named.Free()
	return err
}

// lose ends the cursor with err. The caller holds the lock of the stream.
func (c *cursor) lose(err error) {
	c.err = err
	delete(c.stream.open, c)
	if c.waiting {
		c.stream.waiting = slices.DeleteFunc(c.stream.waiting, func(other *cursor) bool { return other == c })
		c.waiting = false
	}
	select {
	case c.woken <- struct{}{}:
	default:
	}
}
