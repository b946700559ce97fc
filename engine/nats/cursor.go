package nats

import (
	"context"
	"errors"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry/engine"
)

const beat = 400 * time.Millisecond // of the heartbeats of an idle consumer

// cursor reads a stream. A named one holds a lease.
type cursor struct {
	s       *stream
	reader  reader
	lease   *lease // nil without a name
	began   engine.Position
	done    []engine.Range // of began: the reader skips them
	stop    chan struct{}  // closed by Close, or when the lease is lost
	records []engine.Record

	ahead   *natsgo.Msg // was received and not returned
	aheadAt place
	damaged ranges // before ahead: found and not reported
	pending uint64 // records that the server counts behind the last one
	sound   uint64 // up to here no damaged record was passed without a report

	reading sync.Mutex // held by Next
	once    sync.Once
	mu      sync.Mutex
	why     error // why stop is closed
}

var _ engine.Cursor = (*cursor)(nil)

// Cursor implements engine.Stream.
func (s *stream) Cursor(ctx context.Context, config engine.CursorConfig) (engine.Cursor, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	if err := s.endError(); err != nil {
		return nil, err
	}
	c := &cursor{s: s, stop: make(chan struct{}), reader: reader{s: s}}
	if config.Name == "" {
		from, err := s.from(ctx, config.Start)
		if err != nil {
			return nil, err
		}
		c.reader.next = from
	} else {
		l, err := s.hold(ctx, config, c.end)
		if err != nil {
			return nil, err
		}
		c.lease = l
		c.began = l.began
		c.reader.next, c.done = c.began.Floor+1, c.began.Done
	}
	if config.Filter != "" {
		c.reader.subjects = filterSubjects(config.Filter)
	}
	c.sound = c.reader.next - 1
	s.mu.Lock()
	ended := s.ended
	if ended == nil {
		s.cursors[c] = struct{}{}
	}
	s.mu.Unlock()
	if ended != nil {
		_ = c.Close(ctx) // the first error counts
		return nil, ended
	}
	return c, nil
}

// Position implements engine.Cursor.
func (c *cursor) Position() engine.Position { return c.began }

// end stops Next.
func (c *cursor) end(why error) {
	c.once.Do(func() {
		c.mu.Lock()
		c.why = why
		c.mu.Unlock()
		close(c.stop)
	})
}

func (c *cursor) stopped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// Next implements engine.Cursor.
func (c *cursor) Next(ctx context.Context, limit, bytes int) ([]engine.Record, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if err := c.stopped(); err != nil {
		return nil, err
	}
	clear(c.records)
	c.records = c.records[:0]
	for size := 0; len(c.records) < limit; {
		r, err := c.next(ctx, len(c.records) == 0)
		if err != nil {
			if len(c.records) > 0 {
				break // the next call finds it again
			}
			if errors.Is(err, errStopped) {
				err = c.stopped()
			}
			return nil, err
		}
		if r.Sequence == 0 {
			break
		}
		if size += len(r.Payload); len(c.records) > 0 && size > bytes {
			break
		}
		c.ahead = nil
		c.records = append(c.records, r)
	}
	return c.records, nil
}

// next returns the next record and keeps it in ahead, or a record without a Sequence if none has arrived and wait is false.
func (c *cursor) next(ctx context.Context, wait bool) (engine.Record, error) {
	for {
		if len(c.damaged) > 0 {
			if !wait {
				return engine.Record{}, nil
			}
			r := c.damaged[0]
			c.damaged = c.damaged[1:]
			return engine.Record{}, c.s.corrupt(r)
		}
		if c.ahead == nil {
			err := c.receive(ctx, wait)
			if err != nil || !wait && c.ahead == nil && len(c.damaged) == 0 {
				return engine.Record{}, err
			}
			continue
		}
		if engine.Pass(&c.done, c.aheadAt.sequence) {
			c.ahead = nil
			continue
		}
		r, err := c.s.record(c.ahead, c.ahead.Subject, c.aheadAt.sequence, c.aheadAt.stored)
		if err != nil && wait {
			c.ahead = nil // it is reported once
		}
		return r, err
	}
}

// receive fills ahead with the next message, and damaged with the records before it that the server has skipped. A reader
// without a filter sees a gap. One with a filter sees that the server counts more records than it delivers.
func (c *cursor) receive(ctx context.Context, wait bool) error {
	from := c.reader.next
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if wait && c.pending > 0 && c.reader.subjects != nil {
		waiting, cancel = context.WithTimeout(ctx, auditAfter)
	}
	m, at, err := c.reader.receive(waiting, wait, c.stop)
	cancel()
	switch {
	case err != nil && waiting.Err() != nil && ctx.Err() == nil:
		c.pending = 0
		to := c.reader.next - 1
		if info, infoErr := c.s.jsInfo(ctx); infoErr == nil {
			to = info.State.LastSeq
		}
		c.damaged, err = c.s.audit(ctx, c.sound+1, to, c.stop)
		c.sound = to
		return err
	case err != nil || m == nil:
		return err
	}
	c.ahead, c.aheadAt, c.pending = m, at, at.pending
	if c.reader.subjects == nil && at.sequence > from {
		if c.damaged, err = c.s.missing(ctx, from, at.sequence-1); err != nil {
			c.ahead, c.reader.next = nil, from // read it again
			c.reader.close()
			return err
		}
	}
	if c.pending == 0 {
		c.sound = at.sequence
	}
	return nil
}

// Commit implements engine.Cursor.
func (c *cursor) Commit(p engine.Position) {
	if c.lease != nil {
		c.lease.commit(p)
	}
}

// Close implements engine.Cursor.
func (c *cursor) Close(ctx context.Context) error {
	c.end(engine.ErrClosed)
	c.s.mu.Lock()
	_, open := c.s.cursors[c]
	delete(c.s.cursors, c)
	c.s.mu.Unlock()
	if open {
		c.reading.Lock() // Next has returned, or returns now
		c.reader.close()
		c.reading.Unlock()
	}
	if c.lease == nil {
		return nil
	}
	return c.lease.release(ctx)
}
