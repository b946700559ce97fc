package memory

import (
	"context"
	"slices"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/engine/internal/named"
)

// cursor reads a stream. The lock of the stream guards it.
type cursor struct {
	stream  *stream
	named   *named.Cursor // nil for an unnamed cursor
	began   engine.Position
	matcher matcher
	next    uint64         // Next continues with this sequence number
	done    []engine.Range // to skip, those that begin below next excepted
	records []engine.Record
	woken   chan struct{} // has one place: a record was appended, or the cursor has ended
	waiting bool          // in stream.waiting
	err     error         // why the cursor has ended
}

var _ engine.Cursor = (*cursor)(nil)

// Position returns what the cursor began with.
func (c *cursor) Position() engine.Position { return c.began }

// Next returns records in the memory of the stream, which does not change them.
func (c *cursor) Next(ctx context.Context, limit, bytes int) ([]engine.Record, error) {
	clear(c.records) // what the stream has removed is no longer kept for the caller
	c.records = c.records[:0]
	for {
		switch end, err := c.read(max(limit, 1), bytes); {
		case err != nil:
			return nil, err
		case len(c.records) > 0:
			return c.records, nil
		case !end:
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-c.woken:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// read looks at the next scanStep records and gathers those that match. At the end of the stream it has c woken after the next
// append.
func (c *cursor) read(limit, bytes int) (end bool, err error) {
	s := c.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.err != nil {
		return true, c.err
	}
	if s.config.MaxAge > 0 {
		s.expire(time.Now().UnixNano())
	}
	p := s.log.seek(c.next)
	for range scanStep {
		e := s.log.at(p)
		if e == nil {
			if len(c.records) == 0 && !c.waiting {
				c.waiting = true
				s.waiting = append(s.waiting, c)
			}
			return true, nil
		}
		if !engine.Pass(&c.done, e.sequence) && c.matcher.matches(e.tag) {
			if bytes -= e.payload; len(c.records) > 0 && bytes < 0 {
				return false, nil
			}
			c.records = append(c.records, s.log.segments[p.segment].record(p.entry))
		}
		c.next = e.sequence + 1
		if len(c.records) == limit {
			return false, nil
		}
		p = s.log.next(p)
	}
	return false, nil
}

// Commit stores the Position of a named cursor.
func (c *cursor) Commit(p engine.Position) {
	c.stream.mu.Lock()
	defer c.stream.mu.Unlock()
	if c.named != nil && c.err == nil {
		c.named.Position = p.Clone()
	}
}

// Close ends the cursor.
func (c *cursor) Close(context.Context) error {
	c.stream.mu.Lock()
	defer c.stream.mu.Unlock()
	if c.err == nil {
		if c.named != nil {
			c.named.Free()
		}
		c.lose(engine.ErrClosed)
	}
	return nil
}

// lose ends the cursor with err.
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
