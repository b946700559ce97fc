package log

import (
	"errors"
	"slices"

	"example.com/ferry/engine"
)

// errDamaged ends a compaction: what is damaged must be reported, so it stays.
var errDamaged = errors.New("log: the segment is damaged")

// compactAround copies what is left of a segment to a new one, if over half of it is removed records between others, or what is left of it
// and a neighbour takes half a segment. The caller holds the lock.
func (l *Log) compactAround(s *segment) {
	if l.closing || l.compacts {
		return
	}
	i := find(l.segments, s.last)
	if i == len(l.segments) || l.segments[i] != s { // s has no numbers, or is gone
		return
	}
	ready := func(i int) bool {
		return i >= 0 && i < len(l.segments) && l.segments[i] != l.active && !l.segments[i].damaged
	}
	small := func(i int) bool {
		return ready(i) && ready(i+1) && l.segments[i].bytes+l.segments[i+1].bytes <= l.config.SegmentSize/2 && l.segments[i+1].last >= l.floor
	}
	var run []*segment
	switch {
	case small(i):
		run = slices.Clone(l.segments[i : i+2])
	case small(i - 1):
		run = slices.Clone(l.segments[i-1 : i+1])
	case ready(i) && s.holes > (s.size-headerSize)/2:
		run = []*segment{s}
	default:
		return
	}
	for _, s := range run {
		s.compacting = true
	}
	l.compacts = true
	l.serial++
	out := &segment{first: run[0].first, last: run[len(run)-1].last, serial: l.serial, salt: l.salt, size: headerSize}
	l.compactor.Add(1)
	go l.compact(run, out)
}

// compact copies the records that are left of run to out, and replaces run by it.
func (l *Log) compact(run []*segment, out *segment) {
	defer l.compactor.Done()
	err := l.copySegments(run, out)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compacts = false
	if err == nil {
		i := slices.Index(l.segments, run[0])
		for _, s := range run { // records were removed meanwhile
			out.records += s.records
			out.bytes += s.bytes
			s.tags.each(func(t *tag, n uint32) bool {
				out.tags.add(t, n)
				return true
			})
		}
		out.tags.seal()
		out.holes = max(0, out.size-headerSize-out.bytes)
		out.removals = nil
		l.segments = slices.Replace(l.segments, i, i+len(run), out)
		for _, s := range run {
			l.removeFile(s.name())
		}
		l.raiseFloor()
		l.compactAround(out)
		return
	}
	_ = l.config.Store.Remove(out.name() + tempSuffix) // the next start removes it
	for _, s := range run {
		s.compacting = false
		s.damaged = true // not again before the next start
	}
	if !errors.Is(err, errDamaged) && l.config.Failed != nil {
		l.config.Failed("segments are not compacted: they keep their disk space", err)
	}
	l.raiseFloor()
}

// copySegments writes the file of out. Its first frame names the numbers that it lacks, and those before it that frames of run name.
func (l *Log) copySegments(run []*segment, out *segment) error {
	var buf []byte
	var kept counts
	var before []Range
	var idsAfter int64 = 1<<63 - 1
	if l.config.IDsAfter != nil {
		idsAfter = l.config.IDsAfter()
	}
	next := out.first
	for _, s := range run {
		input := s.toWalk()
		err := l.walk(input, func(f frame, _ int64) error {
			switch f.kind {
			case removed:
				for _, r := range parseRanges(nil, f.body) {
					if r.First < out.first {
						before = append(before, Range{r.First, min(r.Last, out.first-1)})
					}
				}
				return nil
			case message:
				if f.sequence > s.last {
					return nil
				}
				v := View{f}
				if !l.has(f.sequence) {
					if len(v.ID()) > 0 && f.stored > idsAfter {
						buf = appendNote(buf, out.salt, &engine.Record{Sequence: f.sequence, Stored: f.stored, Tag: string(v.Tag()), ID: string(v.ID())})
						out.ids++
						out.lastStored = max(out.lastStored, f.stored)
					}
					return nil
				}
				if f.sequence > next {
					out.removals = append(out.removals, Range{next, f.sequence - 1})
				}
				next = f.sequence + 1
				out.place(&entry{sequence: f.sequence, stored: f.stored}, int64(len(buf)))
				kept.add(l.tagNamed(v.Tag()), 1)
				out.records++
				out.bytes += v.Cost()
				if len(v.ID()) > 0 {
					out.ids++
				}
			case known:
				if f.stored <= idsAfter {
					return nil
				}
				out.ids++
				out.lastStored = max(out.lastStored, f.stored)
			default:
				return nil
			}
			start := len(buf)
			buf = append(append(buf, emptyHeader[:]...), f.body...)
			f.seal(buf, start, out.salt)
			return nil
		})
		if err == nil && input.damaged {
			err = errDamaged
		}
		if err != nil {
			return err
		}
	}
	last := run[len(run)-1].last
	if next <= last {
		out.removals = append(out.removals, Range{next, last})
	}
	out.last = last
	for _, r := range out.removals { // what is missing in the inputs without being removed is damage
		if l.Removed(r) < r.Last-r.First+1 {
			return errDamaged
		}
	}
	out.removals = append(before, out.removals...)
	head := out.header()
	head = appendFrame(head, out.salt, frame{kind: removed, sequence: out.first, body: appendRanges(nil, out.removals)})
	for i := range out.marks {
		out.marks[i].offset += int64(len(head))
	}
	out.size = int64(len(head) + len(buf))
	out.tags = kept
	out.tags.seal()
	file := append(append(head, buf...), out.appendSummary(nil, out.size)...)
	out.records, out.bytes, out.tags, out.sealed = 0, 0, counts{}, true
	if l.config.Room != nil {
		if err := l.config.Room(int64(len(file))); err != nil {
			return err
		}
	}
	temp := out.name() + tempSuffix
	f, err := l.config.Store.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(file, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := l.config.Store.Rename(temp, out.name()); err != nil {
		return err
	}
	return l.config.Store.Sync()
}

// tagNamed is tag for a caller without the lock.
func (l *Log) tagNamed(name []byte) *tag {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tags[string(name)]; t != nil {
		return t
	}
	return &tag{name: string(name)} // its last record was removed meanwhile
}
