package log

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// DamageError says that the record with a number cannot be read.
type DamageError struct{ Sequence uint64 }

func (e *DamageError) Error() string { return fmt.Sprintf("log: record %d is damaged", e.Sequence) }

// Reader reads the records of a Log in the order of their numbers. Its methods must not overlap.
type Reader struct {
	log     *Log
	match   func(tag string) bool // nil means all
	next    uint64
	segment *segment // that is read; nil if it must be found
	size    int64    // of the segment, when Read began
	last    uint64   // its last number then
	walker  walker
	file    *sharedFile
}

// Reader returns a Reader that begins with a number. It leaves out whole segments without tags that match; nil matches all.
func (l *Log) Reader(from uint64, match func(tag string) bool) *Reader {
	return &Reader{log: l, next: max(from, 1), match: match}
}

// Next returns the number from which on Read looks.
func (r *Reader) Next() uint64 { return r.next }

// Seek makes Read continue at n.
func (r *Reader) Seek(n uint64) {
	r.leave()
	r.next = n
}

// maxBuffered is how many frames are read under one hold of the lock.
const maxBuffered = 256

// Read returns the next record, which is valid until the next call with fill. Without fill it returns an error instead of overwriting
// the records before. The error is io.EOF at the end of the Log, and a *DamageError once for each record that cannot be read.
func (r *Reader) Read(fill bool) (View, error) {
	for {
		if r.segment == nil {
			if !fill {
				return View{}, errRefill
			}
			if err := r.enter(); err != nil {
				return View{}, err
			}
		}
		r.log.mu.RLock()
		bounded := r.bound()
		r.log.mu.RUnlock()
		if !bounded {
			r.leave()
			continue
		}
		f, err := r.walker.next(fill)
		if errors.Is(err, io.EOF) {
			if err = r.pass(); err == nil {
				continue
			}
			return View{}, err
		}
		if err != nil {
			return View{}, err
		}
		r.log.mu.RLock()
		ok, lost := r.accept(&f)
		r.log.mu.RUnlock()
		switch {
		case lost > 0:
			r.next = lost + 1
			return View{}, &DamageError{lost}
		case ok:
			return View{f}, nil
		}
	}
}

// Buffered calls visit for records that follow in the buffer, until it returns false. They are valid as long as that which Read has returned.
// The Log takes no records meanwhile.
func (r *Reader) Buffered(visit func(View) bool) {
	r.log.mu.RLock()
	defer r.log.mu.RUnlock()
	r.buffered(visit)
}

// buffered is Buffered for a caller that holds the lock of the Log.
func (r *Reader) buffered(visit func(View) bool) {
	if r.segment == nil || !r.bound() {
		return
	}
	for range maxBuffered {
		f, err := r.walker.next(false)
		if err != nil {
			return // Read returns it
		}
		ok, lost := r.accept(&f)
		if lost > 0 || ok && !visit(View{f}) {
			return
		}
	}
}

// accept moves next behind the frame that was read, and reports whether it is a record that is left. If a number before it is lost, it
// returns the first such number instead, and the frame is read again. The caller holds the lock of the Log.
func (r *Reader) accept(f *frame) (ok bool, lost uint64) {
	if f.kind != message || f.sequence < r.next || f.sequence > r.last {
		return false, 0
	}
	if f.sequence > r.next {
		if lost := r.lost(f.sequence); lost > 0 {
			r.walker.at -= f.length
			return false, lost
		}
	}
	r.next = f.sequence + 1
	return f.sequence >= r.log.floor && !r.log.gone.has(f.sequence), 0
}

// lost returns the first number from next on and before end that is not removed, or 0. The caller holds the lock of the Log.
func (r *Reader) lost(end uint64) uint64 {
	if n := r.log.gone.next(max(r.next, r.log.floor)); n < end {
		return n
	}
	return 0
}

// enter opens the segment that has the next record.
func (r *Reader) enter() error {
	l := r.log
	for {
		l.mu.RLock()
		r.next = max(r.next, l.floor)
		i := find(l.segments, r.next)
		if i == len(l.segments) {
			l.mu.RUnlock()
			return io.EOF
		}
		s := l.segments[i]
		if s.first > r.next {
			if n := l.gone.next(r.next); n < s.first {
				l.mu.RUnlock()
				r.next = n + 1
				return &DamageError{n}
			}
			r.next = s.first
		}
		if s != l.active && !r.wants(s) {
			r.next = s.last + 1
			l.mu.RUnlock()
			continue
		}
		next := r.next
		offset := s.offsetOf(func(m mark) bool { return m.sequence <= next })
		name := s.name()
		l.mu.RUnlock()
		f, err := l.reading.get(l.config.Store, name)
		if err != nil {
			l.mu.RLock()
			moved := find(l.segments, next) != i || l.segments[i] != s
			l.mu.RUnlock()
			if moved {
				continue // it was removed, or compacted, meanwhile
			}
			return fmt.Errorf("log: segment %s: %w", name, err)
		}
		r.segment, r.file = s, f
		r.walker = walker{file: f.File, salt: s.salt, buf: r.walker.buf}
		r.walker.buf = r.walker.buf[:0]
		r.walker.base, r.walker.at = offset, 0
		return nil
	}
}

// wants reports whether a segment has a tag that matches. The caller holds the lock.
func (r *Reader) wants(s *segment) (found bool) {
	if r.match == nil {
		return true
	}
	s.tags.each(func(t *tag, _ uint32) bool {
		found = r.match(t.name)
		return !found
	})
	return found
}

// bound sets where the frames of the segment end. It returns false if the segment was cut before the place that is read. The caller holds
// the lock of the Log.
func (r *Reader) bound() bool {
	size := r.segment.size
	r.size, r.last = size, r.segment.last
	if r.walker.offset() > size {
		return false
	}
	r.walker.limit = size
	if end := size - r.walker.base; end < int64(len(r.walker.buf)) {
		r.walker.buf = r.walker.buf[:end]
	}
	return true
}

// pass leaves a segment that is read to its end. It returns io.EOF if the segment takes records.
func (r *Reader) pass() error {
	l := r.log
	l.mu.RLock()
	growing := r.segment == l.active
	more := r.segment.size > r.size
	last := r.segment.last
	lost := r.lost(last + 1)
	l.mu.RUnlock()
	if more {
		return nil
	}
	if lost > 0 {
		r.next = lost + 1
		return &DamageError{lost}
	}
	if r.next = max(r.next, last+1); growing {
		return io.EOF
	}
	r.leave()
	return nil
}

func (r *Reader) leave() {
	if r.file != nil {
		_ = r.file.Close() // it was read
	}
	r.file, r.segment, r.walker.file = nil, nil, nil
	r.walker.buf, r.walker.at = r.walker.buf[:0], 0
}

// Rest frees the buffer, if it is large, until the next call of Read.
func (r *Reader) Rest() {
	if cap(r.walker.buf) > 4*minReadSize {
		r.walker.base, r.walker.at, r.walker.buf = r.walker.offset(), 0, nil
	}
}

// Close closes the file that is read.
func (r *Reader) Close() {
	r.leave()
	r.walker.buf = nil
}

// At returns the number of the first record that was stored at a time or later; the next number if there is none.
func (l *Log) At(stored int64) uint64 {
	l.mu.RLock()
	from := l.newest + 1
	for _, s := range l.segments {
		if s.lastStored >= stored {
			from = s.first
			for _, m := range s.marks {
				if m.stored >= stored {
					break
				}
				from = m.sequence
			}
			break
		}
	}
	l.mu.RUnlock()
	r := l.Reader(from, nil)
	defer r.Close()
	for {
		v, err := r.Read(true)
		var damage *DamageError
		switch {
		case err == nil && v.Stored() >= stored:
			return v.Sequence()
		case err != nil && !errors.As(err, &damage):
			return max(r.next, from)
		}
	}
}

// Known calls visit for each record and each removed one whose ID is in the segments, if it was stored after a time. The arguments are
// valid during the call. It calls visit again for those that a compaction copies meanwhile.
func (l *Log) Known(after int64, visit func(tag, id []byte, sequence uint64, stored int64)) error {
	walked := map[*segment]bool{}
	for {
		l.mu.RLock()
		i := slices.IndexFunc(l.segments, func(s *segment) bool { return s.ids > 0 && s.lastStored > after && !walked[s] })
		if i < 0 {
			l.mu.RUnlock()
			return nil
		}
		s := l.segments[i]
		walked[s] = true
		copied := s.toWalk()
		f, err := l.config.Store.Open(s.name()) // with the lock: it is not removed meanwhile
		l.mu.RUnlock()
		if err != nil {
			return fmt.Errorf("log: segment %s: %w", copied.name(), err)
		}
		err = copied.walk(f, func(f frame, _ int64) error {
			if (f.kind == message || f.kind == known) && f.stored > after {
				if v := (View{f}); len(v.ID()) > 0 {
					visit(v.Tag(), v.ID(), f.sequence, f.stored)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// walk calls visit for each frame of a segment.
func (l *Log) walk(s *segment, visit func(f frame, offset int64) error) error {
	f, err := l.config.Store.Open(s.name())
	if err != nil {
		return fmt.Errorf("log: segment %s: %w", s.name(), err)
	}
	return s.walk(f, visit)
}

// toWalk returns a copy of what walk needs. The caller holds the lock.
func (s *segment) toWalk() *segment {
	return &segment{first: s.first, serial: s.serial, salt: s.salt, size: s.size}
}

// walk calls visit for each frame of the segment's file, and closes it.
func (s *segment) walk(f File, visit func(f frame, offset int64) error) error {
	defer f.Close()
	w := walker{file: f, salt: s.salt, base: headerSize, limit: s.size}
	for {
		offset := w.offset()
		fr, err := w.next(true)
		if err == nil {
			err = visit(fr, w.offset()-int64(fr.length))
		}
		switch {
		case errors.Is(err, io.EOF):
			if w.damaged || w.tail > 0 {
				s.damaged = true
			}
			if w.tail > 0 {
				s.size = max(w.tail, headerSize)
			}
			return nil
		case err != nil:
			return fmt.Errorf("log: segment %s at offset %d: %w", s.name(), offset, err)
		}
	}
}
