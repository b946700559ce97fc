// Package named has the named cursors of a stream that one process keeps, and who holds them.
package named

import (
	"context"
	"slices"
	"strings"

	"example.com/ferry/engine"
)

// Cursor is what outlives the opener of a named cursor.
type Cursor struct {
	engine.CursorInfo             // without Lag
	Dirty             bool        // the engine has not stored it since it has changed
	lose              func(error) // ends the holder; nil if the cursor is free
	freed             chan struct{}
}

// Cursors are the named cursors of a stream, by name. The lock of the stream guards them.
type Cursors map[string]*Cursor

// Make returns the cursor of that name, or makes one that begins at a sequence number. The error says that the cursor has another filter or
// predicate.
func (all Cursors) Make(c engine.CursorConfig, from uint64) (*Cursor, error) {
	n := all[c.Name]
	if n != nil {
		return n, c.CheckKept(n.Filter, n.Where)
	}
	n = &Cursor{Dirty: true}
	n.Name, n.Filter, n.Where, n.Owner, n.Position.Floor = c.Name, c.Filter, c.Where, c.Owner, from-1
	all[n.Name] = n
	return n, nil
}

// Remove removes a cursor. Its holder gets ErrLost.
func (all Cursors) Remove(name string) error {
	n := all[name]
	if n == nil {
		return engine.ErrNoCursor
	}
	delete(all, name)
	if n.lose != nil {
		n.lose(engine.ErrLost)
	}
	n.Free()
	return nil
}

// Infos returns copies of all, sorted by name, without Lag.
func (all Cursors) Infos() []engine.CursorInfo {
	list := make([]engine.CursorInfo, 0, len(all))
	for _, n := range all {
		info := n.CursorInfo
		info.Position = info.Position.Clone()
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b engine.CursorInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Hold gives the cursor to a holder, which lose ends. If it has one, Hold returns a channel that is closed when the cursor is free.
func (n *Cursor) Hold(holder string, lose func(error)) (freed <-chan struct{}) {
	if n.lose == nil {
		n.Holder, n.lose = holder, lose
		return nil
	}
	if n.freed == nil {
		n.freed = make(chan struct{})
	}
	return n.freed
}

// Free ends the hold, and wakes the openers that wait.
func (n *Cursor) Free() {
	n.Holder, n.lose = "", nil
	if n.freed != nil {
		close(n.freed)
		n.freed = nil
	}
}

// Open calls try, again when the channel that it has returned is closed, until it returns none.
func Open[C engine.Cursor](ctx context.Context, try func() (opened C, freed <-chan struct{}, err error)) (engine.Cursor, error) {
	for {
		opened, freed, err := try()
		switch {
		case err != nil:
			return nil, err // not a nil C
		case freed == nil:
			return opened, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
