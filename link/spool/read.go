package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"
)

// reader is where Read continues.
type reader struct {
	mark
	tag string // of the last message
	buf []byte
}

// mark is a place between two records. A nil segment is the start of the first one.
type mark struct {
	next    uint64 // index of the message behind it
	segment *segment
	offset  int64
}

// gap is the indexes of lost messages, to excluded.
type gap struct{ from, to uint64 }

const (
	smallestRead = 4 << 10
	largestRead  = 256 << 10
)

// Read returns the next messages in order: at least one, and at most limit bytes of records after the first. It waits until there
// is one, or ctx ends. The records are valid until the next call. Read returns a *CorruptError where messages are lost; the next
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

// Wait returns when the message with an index was advanced.
func (s *Spool) Wait(ctx context.Context, index uint64) error {
	for {
		s.mu.Lock()
		if s.position > index {
			s.mu.Unlock()
			return nil
		}
		if s.closed {
			s.mu.Unlock()
			return ErrClosed
		}
		advanced := s.freed.wait()
		s.mu.Unlock()
		select {
		case <-advanced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Rewind makes the next Read begin with the first message that was not advanced.
func (s *Spool) Rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seg := s.reader.segment; seg != nil && seg != s.active && !s.closed {
		seg.close()
	}
	s.reader.mark = s.base
	s.reader.next = s.position
	s.marks = nil
	if !slices.Contains(s.segments, s.base.segment) {
		s.reader.segment, s.reader.offset = nil, 0
	}
}

// read is Read without the wait; s.mu is held. Without a message it returns nothing.
func (s *Spool) read(limit int) ([]Record, error) {
	if s.closed {
		return nil, ErrClosed
	}
	if err := s.pending; err != nil {
		s.pending = nil
		return nil, err
	}
	for r := &s.reader; r.next < s.next; {
		end, err := s.seek()
		if err != nil || end == 0 {
			return nil, err
		}
		b, err := s.load(min(max(int64(limit), smallestRead), largestRead))
		if err != nil {
			return nil, err
		}
		records, err := s.parse(b, end, limit)
		if err != nil {
			return nil, err
		}
		if len(records) > 0 {
			s.marks = append(s.marks, r.mark)
			return records, nil
		}
	}
	return nil, nil
}

// seek moves the reader to the file that has the next message. It returns the index behind the last message of that file, or 0 if
// there is no such file, and an error if messages are missing on the way.
func (s *Spool) seek() (end uint64, err error) {
	r := &s.reader
	for {
		i := slices.Index(s.segments, r.segment)
		if i >= 0 {
			end = s.endOf(i)
			if r.next < end && r.offset < r.segment.size {
				return end, r.segment.open()
			}
			if err := s.missing(end, 0); err != nil {
				return 0, err
			}
		}
		if i+1 == len(s.segments) {
			return 0, s.missing(s.next, 0)
		}
		if i >= 0 && r.segment != s.active {
			r.segment.close()
		}
		r.segment, r.offset = s.segments[i+1], 0
		if err := s.missing(r.segment.first, 0); err != nil {
			return 0, err
		}
	}
}

// missing notes that the record at the reader's offset, behind a number of skipped bytes, has an index. It returns a *CorruptError if
// messages before it are missing, once for each gap.
func (s *Spool) missing(index uint64, skipped int64) error {
	r := &s.reader
	if index <= r.next {
		return nil
	}
	missed := gap{r.next, index}
	if r.next = index; slices.Contains(s.gaps, missed) {
		return nil // it was reported before Rewind
	}
	e := &CorruptError{Path: s.cfg.Dir, Offset: r.offset, Skipped: skipped, Lost: missed.to - missed.from}
	if r.segment != nil {
		e.Path = r.segment.path
	}
	s.lost += e.Lost
	s.gaps = append(s.gaps, missed)
	if s.gaps[0].from <= s.position {
		if err := s.advance(s.position); err != nil {
			return errors.Join(e, err)
		}
	}
	return e
}

// load reads n bytes of the reader's file, from its offset on, or those that the file has.
func (s *Spool) load(n int64) ([]byte, error) {
	r := &s.reader
	n = min(n, r.segment.size-r.offset)
	if int64(cap(r.buf)) < n || cap(r.buf) > maxScratch {
		r.buf = make([]byte, n)
	}
	read, err := r.segment.file.ReadAt(r.buf[:n], r.offset)
	if errors.Is(err, io.EOF) { // the file was cut since Open
		s.bytes -= r.segment.size - r.offset - int64(read)
		r.segment.size = r.offset + int64(read)
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return r.buf[:read], nil
}

// parse moves the reader over the records at the start of b, and returns those that are due. end is the index behind the last one
// of the file.
func (s *Spool) parse(b []byte, end uint64, limit int) ([]Record, error) {
	r, salt := &s.reader, s.reader.segment.born.salt()
	var records []Record
	for used := 0; len(b) > 0 && r.next < end; {
		h, state := parseRecord(b, salt)
		n := h.length()
		if state == incomplete && r.offset+int64(len(b)) < r.segment.size { // the rest is in the file
			if len(records) > 0 {
				break
			}
			var err error
			if b, err = s.load(max(int64(n), 2*int64(len(b)))); err != nil {
				return nil, err
			}
			continue
		}
		if (state != intact || h.index > r.next) && len(records) > 0 {
			break // the next call reports it
		}
		if state != intact {
			return nil, s.skip(end)
		}
		if h.index > r.next {
			return nil, s.missing(min(h.index, end), 0)
		}
		if h.index == r.next {
			if used += n; used > limit && len(records) > 0 {
				break
			}
			records = append(records, s.record(h.index, b[headerSize:n]))
			r.next++
		}
		r.offset += int64(n)
		b = b[n:]
	}
	return records, nil
}

func (s *Spool) record(index uint64, body []byte) Record {
	m := message(body, s.reader.tag)
	s.reader.tag = m.Tag
	if m.ID == "" {
		m.ID = s.reader.segment.born.prefix() + strconv.FormatUint(index, 10)
	}
	return Record{index, m}
}

// skip moves the reader behind the damage at its offset, to the next record that is intact.
func (s *Spool) skip(end uint64) error {
	r := &s.reader
	b, err := s.load(r.segment.size - r.offset)
	if err != nil {
		return err
	}
	at, index := nextIntact(b, 1, r.segment.born.salt(), r.next, end)
	err = s.missing(index, int64(at))
	r.offset += int64(at)
	return err
}

// oldest returns the time of the first message that was not advanced; s.mu is held.
func (s *Spool) oldest() time.Time {
	i := max(slices.Index(s.segments, s.base.segment), 0)
	if len(s.segments) == 0 {
		return time.Time{}
	}
	seg, offset := s.segments[i], int64(0)
	if seg == s.base.segment {
		offset = s.base.offset
	}
	if offset >= seg.size && i+1 < len(s.segments) {
		seg, offset = s.segments[i+1], 0
	}
	f, err := os.Open(seg.path)
	if err != nil {
		return time.Time{}
	}
	defer func() { _ = f.Close() }()
	salt, b := seg.born.salt(), make([]byte, headerSize+8)
	for offset < seg.size {
		if _, err := f.ReadAt(b, offset); err != nil {
			break
		}
		h, state := parseHeader(b, salt)
		if state != intact {
			break
		}
		if h.index >= s.position {
			return recordTime(b)
		}
		offset += int64(h.length())
	}
	return time.Time{}
}
