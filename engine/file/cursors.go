package file

import (
	"context"

	"example.com/ferry/engine"
	"example.com/ferry/engine/internal/named"
	"example.com/ferry/engine/log"
)

// Cursor opens a cursor. It waits until the holder of a named cursor has closed it.
func (s *stream) Cursor(ctx context.Context, c engine.CursorConfig) (engine.Cursor, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if c.Name != "" {
		if err := s.CreateCursor(ctx, c); err != nil {
			return nil, err
		}
	}
	return named.Open(ctx, func() (*cursor, <-chan struct{}, error) { return s.tryOpen(c) })
}

// tryOpen opens a cursor, or returns a channel that is closed when it may be free.
func (s *stream) tryOpen(c engine.CursorConfig) (*cursor, <-chan struct{}, error) {
	from := s.start(c.Start) // reads the disk
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, nil, s.err
	}
	opened := &cursor{stream: s, woken: make(chan struct{}, 1)}
	opened.takes = opened.take
	filter := c.Filter
	if c.Name != "" {
		n, err := s.named.Make(c, from) // it may have been deleted while this opener waited
		if err != nil {
			return nil, nil, err
		}
		if n.Dirty {
			s.positions.changed(s)
		}
		if freed := n.Hold(c.Holder, opened.lose); freed != nil {
			return nil, freed, nil
		}
		opened.named = n
		opened.began = n.Position.Clone()
		opened.done = opened.began.Done
		from, filter = n.Position.Floor+1, n.Filter
	}
	opened.tags = newTags(filter)
	opened.reader = s.log.Reader(from, opened.tags.filterFunc())
	s.open[opened] = struct{}{}
	return opened, nil, nil
}

// CreateCursor makes a named cursor without a holder, unless it exists. It is on the disk then.
func (s *stream) CreateCursor(_ context.Context, c engine.CursorConfig) error {
	if err := c.CheckNamed(); err != nil {
		return err
	}
	from := s.start(c.Start)
	s.mu.Lock()
	err := s.err
	if err == nil {
		_, err = s.named.Make(c, from)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.cause(s.positions.flush(s, true)) // also if it exists: another call may be writing it, or have failed
}

// start returns the sequence number at which a new cursor begins. It is at least 1.
func (s *stream) start(at engine.Start) uint64 {
	switch at.At {
	case engine.AtFirst:
		return 1
	case engine.AtSequence:
		return max(at.Sequence, 1)
	case engine.AtTime:
		return s.log.At(at.Time)
	}
	return s.log.State().Last + 1
}

// Cursors returns the named cursors, sorted by name.
func (s *stream) Cursors(ctx context.Context) ([]engine.CursorInfo, error) {
	s.mu.Lock()
	all, err := s.named.Infos(), s.err
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Lag, err = s.lag(ctx, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// lag counts the records that match the filter of a cursor and are not done.
func (s *stream) lag(ctx context.Context, c *engine.CursorInfo) (uint64, error) {
	t := newTags(c.Filter)
	match := t.filterFunc()
	if match == nil {
		n, rest := s.log.Count(c.Position.Floor+1, func(string) bool { return true })
		n += s.left(rest)
		for _, r := range c.Position.Done {
			n -= min(n, s.left(log.Range{First: r.First, Last: r.First + r.Count - 1}))
		}
		return n, nil
	}
	n, rest := s.log.Count(c.Position.Floor+1, match)
	if rest.Last >= rest.First && rest.First > 0 {
		if err := s.scan(ctx, c.Filter, rest.First, rest.Last+1, func(*log.View, string) { n++ }); err != nil {
			return 0, err
		}
	}
	if done := c.Position.Done; len(done) > 0 {
		last := done[len(done)-1]
		err := s.scan(ctx, c.Filter, done[0].First, last.First+last.Count, func(v *log.View, _ string) {
			if engine.Pass(&done, v.Sequence()) && n > 0 {
				n--
			}
		})
		return n, err
	}
	return n, nil
}

// left returns how many numbers of a range are not removed.
func (s *stream) left(r log.Range) uint64 {
	if r.First == 0 || r.Last < r.First {
		return 0
	}
	return r.Last - r.First + 1 - s.log.Removed(r)
}

// DeleteCursor removes a named cursor. Its holder's Next returns ErrLost.
func (s *stream) DeleteCursor(_ context.Context, name string) error {
	s.mu.Lock()
	err := s.err
	if err == nil {
		err = s.named.Remove(name)
	}
	if err == nil {
		s.positions.deleted = append(s.positions.deleted, name)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.cause(s.positions.flush(s, true))
}

// endCursors ends all cursors with err, and stores their positions.
func (s *stream) endCursors(err error) error {
	s.mu.Lock()
	if s.expiry != nil {
		s.expiry.Stop()
	}
	for c := range s.open {
		c.lose(err)
	}
	for _, n := range s.named {
		n.Free()
	}
	s.mu.Unlock()
	return s.positions.close(s)
}
