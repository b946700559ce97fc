package memory

import (
	"context"
	"slices"
	"strings"

	"example.com/ferry/engine"
)

// namedCursor is what outlives the opener of a named cursor.
type namedCursor struct {
	name     string
	filter   string
	where    string
	owner    string
	position engine.Position
	holder   string
	held     *cursor       // nil if the cursor is free
	freed    chan struct{} // closed when the cursor becomes free; nil if no opener waits
}

// free wakes the openers that wait.
func (n *namedCursor) free() {
	n.held, n.holder = nil, ""
	if n.freed != nil {
		close(n.freed)
		n.freed = nil
	}
}

// Cursor opens a cursor. It waits until the holder of a named cursor has closed it.
func (s *stream) Cursor(ctx context.Context, c engine.CursorConfig) (engine.Cursor, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	for {
		opened, freed, err := s.tryOpen(c)
		if opened == nil && err == nil {
			select {
			case <-freed:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if err != nil {
			return nil, err // not a nil *cursor
		}
		return opened, nil
	}
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
	n, err := s.create(c)
	if err != nil {
		return nil, nil, err
	}
	if n.held != nil {
		if n.freed == nil {
			n.freed = make(chan struct{})
		}
		return nil, n.freed, nil
	}
	n.held, n.holder = opened, c.Holder
	opened.named = n
	opened.began = n.position.Clone()
	opened.next, opened.done = n.position.Floor+1, opened.began.Done
	opened.matcher = newMatcher(n.filter)
	s.open[opened] = struct{}{}
	return opened, nil, nil
}

// create returns the named cursor, which it makes if there is none. The caller holds the lock.
func (s *stream) create(c engine.CursorConfig) (*namedCursor, error) {
	if n := s.named[c.Name]; n != nil {
		return n, c.CheckKept(n.filter, n.where)
	}
	n := &namedCursor{name: c.Name, filter: c.Filter, where: c.Where, owner: c.Owner, position: engine.Position{Floor: s.start(c.Start) - 1}}
	s.named[c.Name] = n
	return n, nil
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
	_, err := s.create(c)
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
	all, err := s.positions()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b engine.CursorInfo) int { return strings.Compare(a.Name, b.Name) })
	for i := range all {
		if all[i].Lag, err = s.lag(ctx, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s *stream) positions() ([]engine.CursorInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	all := make([]engine.CursorInfo, 0, len(s.named))
	for _, n := range s.named {
		all = append(all, engine.CursorInfo{
			Name:     n.name,
			Filter:   n.filter,
			Where:    n.where,
			Owner:    n.owner,
			Position: n.position.Clone(),
			Holder:   n.holder,
		})
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
	n := s.named[name]
	switch {
	case s.err != nil:
		return s.err
	case n == nil:
		return engine.ErrNoCursor
	}
	delete(s.named, name)
	if n.held != nil {
		n.held.lose(engine.ErrLost)
	}
	n.free()
	return nil
}
