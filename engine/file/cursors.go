package file

import (
	"context"
	"slices"
	"strings"

	"example.com/ferry/engine"
	"example.com/ferry/engine/log"
)

// namedCursor is what outlives the opener of a named cursor.
type namedCursor struct {
	name     string
	filter   string
	where    string
	owner    string
	position engine.Position
	dirty    bool // the file has another position
	holder   string
	held     *cursor       // nil if the cursor is free
	freed    chan struct{} // closed when the cursor becomes free; nil if no opener waits
}

func newNamedCursor(c engine.CursorInfo) *namedCursor {
	return &namedCursor{name: c.Name, filter: c.Filter, where: c.Where, owner: c.Owner, position: c.Position}
}

// info returns what outlives the opener, and its name. It shares the position.
func (n *namedCursor) info() engine.CursorInfo {
	return engine.CursorInfo{Name: n.name, Filter: n.filter, Where: n.where, Owner: n.owner, Position: n.position, Holder: n.holder}
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
	if c.Name != "" {
		if err := s.CreateCursor(ctx, c); err != nil {
			return nil, err
		}
	}
	for {
		opened, freed, err := s.tryOpen(c)
		switch {
		case err != nil:
			return nil, err // not a nil *cursor
		case opened != nil:
			return opened, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
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
		n := s.named[c.Name]
		switch {
		case n == nil: // it was deleted while this opener waited
			s.create(c, from)
			s.positions.changed(s)
			n = s.named[c.Name]
		case c.CheckKept(n.filter, n.where) != nil:
			return nil, nil, c.CheckKept(n.filter, n.where)
		case n.held != nil:
			if n.freed == nil {
				n.freed = make(chan struct{})
			}
			return nil, n.freed, nil
		}
		n.held, n.holder = opened, c.Holder
		opened.named = n
		opened.began = n.position.Clone()
		opened.done = opened.began.Done
		from, filter = n.position.Floor+1, n.filter
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
	n, err := s.named[c.Name], s.err
	switch {
	case err != nil:
	case n != nil:
		err = c.CheckKept(n.filter, n.where)
	default:
		s.create(c, from)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.cause(s.positions.flush(s, true)) // also if it exists: another call may be writing it, or have failed
}

// create makes a named cursor. The caller holds the lock.
func (s *stream) create(c engine.CursorConfig, from uint64) {
	s.named[c.Name] = &namedCursor{name: c.Name, filter: c.Filter, where: c.Where, owner: c.Owner, position: engine.Position{Floor: from - 1}, dirty: true}
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
	err := s.err
	all := make([]engine.CursorInfo, 0, len(s.named))
	for _, n := range s.named {
		info := n.info()
		info.Position = info.Position.Clone()
		all = append(all, info)
	}
	s.mu.Unlock()
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
	n := s.named[name]
	err := s.err
	if err == nil && n == nil {
		err = engine.ErrNoCursor
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	delete(s.named, name)
	s.positions.deleted = append(s.positions.deleted, name)
	if n.held != nil {
		n.held.lose(engine.ErrLost)
	}
	n.free()
	s.mu.Unlock()
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
		n.free()
	}
	s.mu.Unlock()
	return s.positions.close(s)
}
