package spool

import (
	"context"
	"errors"
	"fmt"
	"io"

	"example.com/ferry/engine/log"
)

// Read returns the next messages in order: at least one, and no further one behind limit bytes of records. It waits until there
// is one, or ctx ends. The records are valid until the next call. Read returns a *CorruptError where messages are lost, once; the next
// call continues behind them.
func (s *Spool) Read(ctx context.Context, limit int) ([]Record, error) {
	for {
		s.mu.Lock()
		records, err := s.read(limit)
		if err != nil || len(records) > 0 {
			s.mu.Unlock()
			return records, err
		}
		appended := s.appended.wait()
		s.mu.Unlock()
		select {
		case <-appended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// TryRead is Read, but it returns nothing if there is no message.
func (s *Spool) TryRead(limit int) ([]Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read(limit)
}

// read is Read without the wait; s.mu is held. Without a message it returns nothing.
func (s *Spool) read(limit int) ([]Record, error) {
	clear(s.batch)
	s.batch = s.batch[:0]
	if s.closed {
		return nil, ErrClosed
	}
	var lost log.Range // none if First is 0
	for {
		v, err := s.reader.Read(true)
		var damage *log.DamageError
		if errors.As(err, &damage) && (lost.First == 0 || damage.Sequence == lost.Last+1) {
			if lost.Last = damage.Sequence; lost.First == 0 {
				lost.First = damage.Sequence
			}
			continue
		}
		switch {
		case lost.First > 0:
			s.reader.Seek(lost.Last + 1)
			s.log.Discard(lost) // it is not told again
			s.lost += lost.Last + 1 - lost.First
			s.freed.wake() // Wait does not wait for it
			return nil, &CorruptError{s.cfg.Dir, lost.First, lost.Last}
		case errors.Is(err, io.EOF):
			s.reader.Rest()
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("spool: %w", err)
		}
		take := func(v log.View) bool {
			s.batch = append(s.batch, s.decode(&v))
			limit -= int(v.Cost())
			return limit > 0
		}
		if take(v) {
			s.reader.Buffered(take)
		}
		return s.batch, nil
	}
}

// Rewind makes the next Read begin with the first message that was not advanced.
func (s *Spool) Rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reader.Seek(s.log.State().First)
}

// Advance removes the message with an index and all before it, whether Read has returned them or not. A spool that is opened later begins
// with the message behind it. After an error the messages are removed from this Spool, and may be read again by a later one.
func (s *Spool) Advance(index uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.log.State()
	switch {
	case s.closed:
		return ErrClosed
	case index > l.Last:
		return fmt.Errorf("spool: message %d cannot be advanced: the last one is %d", index, l.Last)
	case index < l.First:
		return nil
	}
	s.log.Discard(log.Range{First: l.First, Last: index})
	s.freed.wake()
	return s.storePosition(index + 1)
}

// Wait returns when the message with an index was advanced.
func (s *Spool) Wait(ctx context.Context, index uint64) error {
	for {
		s.mu.Lock()
		advanced := s.freed.wait()
		closed := s.closed
		s.mu.Unlock()
		switch {
		case s.log.State().First > index:
			return nil
		case closed:
			return ErrClosed
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
