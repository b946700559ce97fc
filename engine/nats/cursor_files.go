package nats

import (
	"context"
	"errors"
)

// readFiles fills records from the files of the stream, as far as they can be read. It leaves records empty when the consumer has
// to go on, or damage is to be reported. The error ends Next.
func (c *cursor) readFiles(ctx context.Context, limit, bytes int) error {
	if len(c.damaged) > 0 || c.files == nil && !c.tryFiles(ctx) {
		return nil
	}
	refreshed := false
	for len(c.records) == 0 {
		select {
		case <-c.stop:
			return c.stopped()
		case <-c.s.ending:
			return c.s.endError()
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		err := c.files.fill(ctx)
		if err == nil {
			err = c.takeRecords(limit, bytes)
		}
		if len(c.records) > 0 { // the next call finds the error again
			return nil
		}
		var gap *gapError
		isGap := errors.As(err, &gap)
		switch {
		case err == nil:
			refreshed = false
		case (isGap || errors.Is(err, errStale)) && !refreshed:
			refreshed, err = true, c.files.refresh(ctx)
		case isGap:
			if c.damaged, _ = c.s.missing(ctx, gap.first, gap.last); len(c.damaged) > 0 {
				c.reader.next = gap.last + 1
				return nil
			}
		}
		if err != nil {
			c.leaveFiles(err)
			return nil
		}
	}
	return nil
}

// tryFiles opens the files if they have what comes next, and much of it.
func (c *cursor) tryFiles(ctx context.Context) bool {
	if c.reader.next < c.filesFrom || c.ahead != nil || c.reader.consumer != "" && c.pending < worthReading {
		return false
	}
	f, err := openFiles(ctx, c.s, c.filter, c.reader.next)
	if err != nil {
		c.leaveFiles(err)
		return false
	}
	c.files = f
	c.reader.close()
	return true
}

// takeRecords moves records from the buffer to c.records.
func (c *cursor) takeRecords(limit, bytes int) error {
	for size := 0; len(c.records) < limit; {
		r, n, err := c.files.record(c.reader.next)
		if err != nil || r.Sequence == 0 {
			return err
		}
		if r.Tag != "" && !c.isDone(r.Sequence) {
			if size += len(r.Payload); len(c.records) > 0 && size > bytes {
				return nil
			}
			c.records = append(c.records, r)
		}
		c.files.take(n)
		c.reader.next = r.Sequence + 1
		c.filesAgain = filesAgain
	}
	return nil
}

// leaveFiles lets the consumer go on. Damage is not repaired: the longer the files are of no use, the rarer they are tried.
func (c *cursor) leaveFiles(why error) {
	if !errors.Is(why, errNewest) {
		c.s.e.log.Debug("engine: a consumer reads on where the files cannot be read", "stream", c.s.name, "sequence", c.reader.next, "why", why)
	}
	if c.files != nil {
		c.sound, c.pending = c.reader.next-1, 0
		c.closeFiles()
	}
	c.filesFrom = c.reader.next + c.filesAgain
	c.filesAgain *= 2
}

func (c *cursor) closeFiles() {
	if c.files != nil {
		c.files.close()
		c.files = nil
	}
}
