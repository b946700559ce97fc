package spool

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"example.com/ferry"
	"example.com/ferry/engine"
	"example.com/ferry/engine/log"
)

// retryFullDisk is the pause between two attempts to write to a disk that is full.
const retryFullDisk = 500 * time.Millisecond

// Append adds m at the end and returns its index. It copies m; a Time of 0 becomes the current time; Source and To are not kept.
// While the spool, or its disk, is full, Append waits for Advance, until ctx ends; the error then wraps ErrFull and that of ctx.
// After another error m is not read, unless the disk keeps it against all calls: then a later Spool may read it.
func (s *Spool) Append(ctx context.Context, m *ferry.Message) (index uint64, err error) {
	for {
		s.mu.Lock()
		freed := s.freed.wait()
		s.mu.Unlock()
		index, err := s.TryAppend(m)
		if !errors.Is(err, ErrFull) {
			return index, err
		}
		select {
		case <-freed:
		case <-time.After(retryFullDisk):
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

// TryAppend is Append, but it returns ErrFull at once.
func (s *Spool) TryAppend(m *ferry.Message) (index uint64, err error) {
	r := s.encode(m)
	if err := log.Check(r); err != nil {
		return 0, fmt.Errorf("spool: %w", err)
	}
	n := log.Cost(r)
	if n > s.cfg.MaxBytes {
		return 0, fmt.Errorf("%w: %d bytes do not fit in %s, which has %d", ErrTooLarge, n, s.cfg.Dir, s.cfg.MaxBytes)
	}
	if err := s.reserve(n); err != nil {
		return 0, err // before the log gives it a number
	}
	stored := make(chan error, 1)
	index = s.log.Put(r, time.Now().UnixNano(), func(err error) { stored <- err })
	err = <-stored
	s.stored(n, err == nil)
	switch {
	case errors.Is(err, engine.ErrClosed):
		return 0, ErrClosed
	case err != nil && isDiskFull(err):
		return 0, fmt.Errorf("%w: %w", ErrFull, err)
	case err != nil:
		return 0, fmt.Errorf("spool: %w", err)
	}
	return index, nil
}

// reserve takes n bytes of the bound for a message that is not in the log yet.
func (s *Spool) reserve(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if have := s.log.State().Bytes + s.reserved; have > 0 && have+n > s.cfg.MaxBytes {
		s.crowded = s.reserved > 0
		return fmt.Errorf("%w: %s has %d bytes of at most %d, and %d more are to be stored", ErrFull, s.cfg.Dir, have, s.cfg.MaxBytes, n)
	}
	s.reserved += n
	return nil
}

// stored ends the reservation of a message, which is in the log if ok is true.
func (s *Spool) stored(n int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reserved -= n; !ok {
		return // Append tries again after a pause
	}
	s.appended.wake()
	if s.crowded {
		s.crowded = false
		s.freed.wake()
	}
}

// encode returns the record of a message. The log counts records by tag; that of a message is in the extension, so that any number of
// tags takes no memory. The key follows it.
func (s *Spool) encode(m *ferry.Message) *engine.Record {
	r := &engine.Record{Time: m.Time, Type: m.Type, ID: m.ID, Payload: m.Payload}
	if r.Time == 0 {
		r.Time = time.Now().UnixNano()
	}
	if r.ID == "" {
		r.ID = s.name + strconv.FormatUint(s.ids.Add(1), 10)
	}
	r.Extension = binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen16+len(m.Tag)+len(m.Key)), uint64(len(m.Tag)))
	r.Extension = append(append(r.Extension, m.Tag...), m.Key...)
	return r
}

// decode returns the record of a View. Key and Payload are parts of its buffer.
func (s *Spool) decode(v *log.View) Record {
	r := v.Record("")
	size, n := binary.Uvarint(r.Extension)
	rest := r.Extension[max(n, 0):]
	tag := rest[:min(size, uint64(len(rest)))]
	if string(tag) != s.tag { // otherwise it is not allocated again
		s.tag = string(tag)
	}
	m := ferry.Message{Tag: s.tag, Time: r.Time, Type: r.Type, ID: r.ID, Payload: r.Payload}
	if key := rest[len(tag):]; len(key) > 0 {
		m.Key = key
	}
	return Record{r.Sequence, m}
}
