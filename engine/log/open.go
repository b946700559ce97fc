package log

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Open reads what a Store has. A sealed segment is known by its summary; others are read in full.
func Open(c Config) (*Log, error) {
	l, err := load(c)
	if err != nil {
		return nil, err
	}
	l.gathering = &group{first: l.next}
	l.head = l.Reader(1, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raiseFloor()
	for _, s := range slices.Clone(l.segments) {
		l.compactAround(s)
	}
	return l, nil
}

// load reads what a Store has, and seals the last segment.
func load(c Config) (*Log, error) {
	l := &Log{config: c, salt: newSalt(), tags: map[string]*tag{}, floor: 1, next: 1, ended: make(chan struct{}), stop: make(chan struct{})}
	names, err := c.Store.List()
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, suffix+tempSuffix) {
			l.removeFile(name) // a compaction did not end
			continue
		}
		if s, ok := parseName(name); ok {
			l.segments = append(l.segments, s)
			l.serial = max(l.serial, s.serial)
		}
	}
	slices.SortFunc(l.segments, func(a, b *segment) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.serial, b.serial)) })
	var reserved uint64
	for _, s := range l.segments {
		n, err := l.loadSegment(s)
		if err != nil {
			return nil, err
		}
		if reserved = max(reserved, n); s.sealed {
			reserved = 0 // all that was given before is on the disk
		}
	}
	l.supersede()
	if err := l.recount(); err != nil {
		return nil, err
	}
	return l, l.sealAll(reserved)
}

// tag returns the tag with a name.
func (l *Log) tag(name []byte) *tag {
	t := l.tags[string(name)]
	if t == nil {
		t = &tag{name: string(name)}
		l.tags[t.name] = t
	}
	return t
}

// loadSegment reads the summary of a segment, or its frames. It returns the last number that may have been given, as far as the segment says.
func (l *Log) loadSegment(s *segment) (reserved uint64, err error) {
	f, err := l.config.Store.Open(s.name())
	if err != nil {
		return 0, fmt.Errorf("log: %w", err)
	}
	defer f.Close()
	if err := s.checkHeader(f); err != nil {
		return 0, err
	}
	if s.loadSummary(f, l.tag) {
		return 0, nil
	}
	*s = segment{first: s.first, last: s.first - 1, serial: s.serial, salt: s.salt}
	if s.size, err = f.Size(); err != nil {
		return 0, fmt.Errorf("log: %w", err)
	}
	if s.size < headerSize {
		s.size = headerSize
		return 0, nil
	}
	end := s.size
	err = l.walk(s, func(f frame, offset int64) error {
		switch f.kind {
		case reserve:
			reserved = max(reserved, f.sequence)
		case message:
			s.last = max(s.last, f.sequence)
		case known:
			s.ids++
		case removed:
			s.removals = parseRanges(s.removals, f.body)
		case summary:
			end = min(end, offset)
		}
		return nil
	})
	s.size = min(s.size, end)
	for _, r := range s.removals {
		s.last = max(s.last, r.Last)
	}
	return reserved, err
}

// supersede takes the numbers of older segments that newer ones have, too: a compaction has copied them, or they were written again after
// a failure.
func (l *Log) supersede() {
	l.eachOverlap(func(older, newer *segment) {
		if newer.first >= older.first && newer.first <= older.last {
			older.last = newer.first - 1       // what follows was not synced
			older.sealed, older.ids = false, 0 // its summary has more
		}
	})
	var gone []*segment // but what only names removed numbers of others, or IDs, stays
	l.eachOverlap(func(older, newer *segment) {
		switch {
		case newer.first < older.first && older.first <= newer.last: // a compaction has copied it
			gone = append(gone, older)
		case newer.first == older.first && older.ids == 0 && !slices.ContainsFunc(older.removals, func(r Range) bool { return r.First < older.first }):
			gone = append(gone, older)
		}
	})
	l.segments = without(l.segments, gone)
	for _, s := range gone {
		l.removeFile(s.name())
	}
}

// eachOverlap calls visit for each two segments that may have a number in common.
func (l *Log) eachOverlap(visit func(older, newer *segment)) {
	for i, s := range l.segments {
		for _, other := range l.segments[i+1:] {
			if other.first > max(s.last, s.first) {
				break
			}
			if s.serial < other.serial {
				visit(s, other)
			} else {
				visit(other, s)
			}
		}
	}
}

// recount adds the removed numbers of all segments, and counts again what their summaries do not know.
func (l *Log) recount() error {
	for _, own := range []bool{true, false} {
		for _, s := range l.segments {
			for _, r := range s.removals {
				if own == (r.First >= s.first) && l.gone.add(r) > 0 && !own {
					for _, hit := range l.segments[find(l.segments, r.First):] {
						if hit.first <= r.Last {
							hit.sealed = false
						}
					}
				}
			}
		}
	}
	for i, s := range l.segments {
		if i == 0 {
			l.floor = max(1, s.first)
		}
		if !s.sealed {
			if err := l.count(s); err != nil {
				return err
			}
		}
		l.records += s.records
		l.bytes += s.bytes
		l.stored = max(l.stored, s.lastStored)
		l.newest = max(l.newest, s.last)
		s.tags.each(func(t *tag, n uint32) bool {
			t.records += uint64(n)
			return true
		})
	}
	l.gone.forget(0, l.floor)
	if l.next = l.gone.next(l.newest + 1); l.next > l.newest+1 { // removed numbers are not given again
		l.newest = l.next - 1
		l.segments[len(l.segments)-1].last = l.newest
	}
	for _, t := range l.tags {
		l.forgetTag(t)
	}
	return nil
}

// count reads a segment and counts what is left of it.
func (l *Log) count(s *segment) error {
	s.records, s.bytes, s.holes, s.ids, s.lastStored, s.marks, s.tags = 0, 0, 0, 0, 0, nil, counts{}
	err := l.walk(s, func(f frame, offset int64) error {
		if f.kind == known {
			s.ids++
			s.lastStored = max(s.lastStored, f.stored)
		}
		if f.kind != message || f.sequence > s.last {
			return nil
		}
		v := View{f}
		last := s.last
		s.place(&entry{sequence: f.sequence, stored: f.stored}, offset)
		s.last = last
		if len(v.ID()) > 0 {
			s.ids++
		}
		if l.gone.has(f.sequence) {
			s.holes += v.Cost()
			return nil
		}
		s.tags.add(l.tag(v.Tag()), 1)
		s.records++
		s.bytes += v.Cost()
		return nil
	})
	s.tags.seal()
	return err
}

// sealAll seals the newest segment if the process before has not, and syncs it unless each group was. Numbers that may have been given behind
// it are not given again. On a full disk the segment stays as it is, and is read in full at the next start.
func (l *Log) sealAll(reserved uint64) error {
	if len(l.segments) == 0 {
		return nil
	}
	s := l.segments[len(l.segments)-1]
	whole := s.sealed && reserved <= s.last
	if whole && l.config.Interval == 0 {
		s.removals = nil
		return nil
	}
	f, err := l.config.Store.Open(s.name())
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	defer f.Close()
	if !whole {
		err = l.sealLast(s, f, reserved)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("log: segment %s: %w", s.name(), err)
	}
	s.removals = nil
	return l.config.Store.Sync()
}

// sealLast writes the summary of the newest segment, and before it the numbers up to reserved. If they cannot be written, the next group
// has them.
func (l *Log) sealLast(s *segment, f File, reserved uint64) error {
	var b []byte
	if reserved > s.last {
		gap := Range{s.last + 1, reserved}
		l.gone.add(gap)
		s.removals = append(s.removals, gap)
		b = appendFrame(b, s.salt, frame{kind: removed, sequence: reserved, body: appendRanges(nil, []Range{gap})})
		s.last = reserved
		l.newest, l.next = reserved, reserved+1
		l.removals = append(l.removals, gap)
	}
	at := s.size
	if s.size == headerSize {
		b = append(s.header(), b...)
		at = 0
	}
	end := at + int64(len(b))
	if err := f.Truncate(at); err != nil {
		return err
	}
	_, err := f.WriteAt(s.appendSummary(b, end), at)
	if err == nil {
		s.size, s.sealed, l.removals = end, true, nil
		return nil
	}
	s.sealed = false
	if l.config.Failed != nil {
		l.config.Failed("the segment of the process before is not sealed: it is read in full at the next start", err)
	}
	return f.Truncate(at)
}
