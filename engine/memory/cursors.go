package memory

import (
	"context"

	"example.com/ferry/engine"
	"example.com/ferry/engine/internal/named"
)

// Cursor opens a cursor. It waits until the holder of a named cursor has closed it.
func (s *stream) Cursor(ctx context.Context, c engine.CursorConfig) (engine.Cursor, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return named.Open(ctx, func() (*cursor, <-chan struct{}, error) { return s.tryOpen(c) })
}

// tryOpen opens a cursor, or returns a channel that is closed when it may be free.
func (s *stream) tryOpen(c engine.CursorConfig) (*cursor, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refusesWork(); err != nil {
		return nil, nil, err
	}
	opened := &cursor{stream: s, woken: make(chan struct{}, 1)}
	if c.Name == "" {
		opened.next = s.start(c.Start)
		opened.matcher = newMatcher(c.Filter)
		s.open[opened] = struct{}{}
		return opened, nil, nil
	}
	n, err := s.named.Make(c, s.start(c.Start))
	if err != nil {
		return nil, nil, err
	}
	if freed := n.Hold(c.Holder, opened.lose); freed != nil {
		return nil, freed, nil
	}
	opened.named = n
	opened.began = n.Position.Clone()
	opened.next, opened.done = n.Position.Floor+1, opened.began.Done
	opened.matcher = newMatcher(n.Filter)
	s.open[opened] = struct{}{}
	return opened, nil, nil
}

// CreateCursor makes a named cursor without a holder, unless it exists.
func (s *stream) CreateCursor(_ context.Context, c engine.CursorConfig) error {
	if err := c.CheckNamed(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refusesWork(); err != nil {
		return err
	}
	_, err := s.named.Make(c, s.start(c.Start))
	return err
}

// start returns the sequence number at which a new cursor begins. It is at least 1.
func (s *stream) start(at engine.Start) uint64 {
	switch at.At {
	case engine.AtFirst:
		return 1
	case engine.AtSequence:
		return max(at.Sequence, 1)
	case engine.AtTime:
		if e := s.log.at(s.log.seekTime(at.Time)); e != nil {
			return e.sequence
		}
	}
	return s.log.last + 1
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
	m := newMatcher(c.Filter)
	if m.filter == "" && len(c.Position.Done) == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.log.countAll(c.Position.Floor), s.err
	}
	var n uint64
	done := c.Position.Done
	err := s.scan(ctx, c.Position.Floor+1, 0, func(e *entry) {
		if !engine.Pass(&done, e.sequence) && m.matches(e.tag) {
			n++
		}
	})
	return n, err
}

// DeleteCursor removes a named cursor. Its holder's Next returns ErrLost.
func (s *stream) DeleteCursor(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	return s.named.Remove(name)
}
