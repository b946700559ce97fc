package memory

import (
	"slices"
	"sort"
	"strings"

	"example.com/ferry/engine"
)

// The cost at which a segment is full.
const (
	minSegment = 4 << 10
	maxSegment = 256 << 10
)

// log is the records of a stream, oldest first. It has no lock and no clock.
//
// Records are in segments, so that an append copies bytes and allocates almost nothing, and the oldest records go a segment at a
// time. Records also go from the middle: with MaxPerTag, Remove and Purge. Two neighbours that fit in one segment are then
// merged, so a segment that is full of removed records does not stay because of the last one.
type log struct {
	segments    []*segment // the last one takes new records
	segmentCost int64
	records     uint64
	bytes       int64
	last        uint64 // sequence number of the newest record ever appended
	lastStored  int64
	tags        map[string]*tag
	perTag      bool // tags have the sequence numbers of their records
}

// place is an entry of a log. Removing and appending records invalidate it.
type place struct{ segment, entry int }

func newLog() log { return log{tags: map[string]*tag{}} }

// bound adapts the size of segments to the bytes that the log may hold.
func (l *log) bound(maxBytes int64) {
	l.segmentCost = min(max(maxBytes/16, minSegment), maxSegment)
}

// append stores a record at the end. id is r.ID, in memory of its own.
func (l *log) append(r *engine.Record, stored int64, id string) {
	if n := len(l.segments); n == 0 || !l.segments[n-1].room(r, l.segmentCost) {
		l.grow(r)
	}
	t := l.tags[r.Tag]
	if t == nil {
		t = &tag{name: strings.Clone(r.Tag)}
		l.tags[t.name] = t
	}
	l.last++
	l.lastStored = stored
	t.records++
	if l.perTag {
		t.sequences.push(l.last)
	}
	l.segments[len(l.segments)-1].add(r, t, l.last, stored, id)
	l.records++
	l.bytes += costOf(r)
}

// grow begins a segment with room for r. Its capacities follow those that the segment before needed.
func (l *log) grow(r *engine.Record) {
	entries, data := 16, minSegment
	if n := len(l.segments); n > 0 {
		s := l.segments[n-1]
		entries = len(s.entries) + len(s.entries)/8 + 1
		data = len(s.data) + len(s.data)/8
		if s.used+costOf(r) <= l.segmentCost { // it ended because data was full
			entries, data = 2*entries, 2*data
		}
	}
	data = min(max(data, minSegment), int(l.segmentCost))
	l.segments = append(l.segments, &segment{
		entries: make([]entry, 0, entries),
		data:    make([]byte, 0, max(data, len(r.Extension)+len(r.Payload))),
	})
	l.mergeAround(len(l.segments) - 2)
}

// seek returns the place of the first record that is left with that sequence number or a greater one.
func (l *log) seek(sequence uint64) place {
	return l.search(func(e *entry) bool { return e.sequence >= sequence })
}

// seekTime returns the place of the first record that is left and was stored at that time or later.
func (l *log) seekTime(stored int64) place {
	return l.search(func(e *entry) bool { return e.stored >= stored })
}

// search returns the place of the first record that is left and for which at is true. at is false for all entries before some
// place, and true behind it.
func (l *log) search(at func(*entry) bool) place {
	i := sort.Search(len(l.segments), func(i int) bool { entries := l.segments[i].entries; return at(&entries[len(entries)-1]) })
	if i == len(l.segments) {
		return place{i, 0}
	}
	entries := l.segments[i].entries
	return l.left(place{i, sort.Search(len(entries), func(j int) bool { return at(&entries[j]) })})
}

// at returns the entry at p, or nil at the end of the log.
func (l *log) at(p place) *entry {
	if p.segment == len(l.segments) {
		return nil
	}
	return &l.segments[p.segment].entries[p.entry]
}

// next returns the place behind p.
func (l *log) next(p place) place { return l.left(place{p.segment, p.entry + 1}) }

// left returns p, or the first place behind it whose record is left.
func (l *log) left(p place) place {
	for ; p.segment < len(l.segments); p = (place{p.segment + 1, 0}) {
		s := l.segments[p.segment]
		for p.entry = max(p.entry, s.first); p.entry < len(s.entries); p.entry++ {
			if s.entries[p.entry].tag != nil {
				return p
			}
		}
	}
	return p
}

// first returns the sequence number of the oldest record, or the next number to be given if there is none.
func (l *log) first() uint64 {
	if e := l.at(l.left(place{})); e != nil {
		return e.sequence
	}
	return l.last + 1
}

// newest returns the sequence number of the newest record that is left; 0 if there is none.
func (l *log) newest() uint64 {
	for i := len(l.segments) - 1; i >= 0; i-- {
		entries := l.segments[i].entries
		for j := len(entries) - 1; j >= l.segments[i].first; j-- {
			if entries[j].tag != nil {
				return entries[j].sequence
			}
		}
	}
	return 0
}

// removeOldest removes the first record of a log that has one.
func (l *log) removeOldest() { l.remove(l.left(place{})) }

// remove removes the record at p.
func (l *log) remove(p place) {
	s := l.segments[p.segment]
	e := &s.entries[p.entry]
	t, cost := e.tag, e.cost()
	e.tag, e.id = nil, ""
	l.records--
	l.bytes -= cost
	s.live -= cost
	s.records--
	l.removeFromTag(t, e.sequence)
	oldest := p.segment == 0 && p.entry == s.first
	for s.first < len(s.entries) && s.entries[s.first].tag == nil {
		s.first++
	}
	switch {
	case s.first == len(s.entries):
		l.segments = slices.Delete(l.segments, p.segment, p.segment+1)
		l.mergeAround(p.segment - 1)
	case !oldest: // the oldest segment is about to go as a whole
		l.mergeAround(p.segment)
	}
}

// removeFromTag subtracts a record from its tag.
func (l *log) removeFromTag(t *tag, sequence uint64) {
	if t.records--; t.records == 0 {
		delete(l.tags, t.name)
		if len(l.tags) == 0 {
			l.tags = map[string]*tag{} // a map does not shrink
		}
		return
	}
	if !l.perTag {
		return
	}
	if sequence == *t.sequences.front() {
		for !l.has(*t.sequences.front()) {
			t.sequences.pop()
		}
	} else if t.sequences.len() > 2*t.records+16 {
		t.sequences.keep(l.has)
	}
}

// has reports whether the log has the record with a sequence number.
func (l *log) has(sequence uint64) bool {
	e := l.at(l.seek(sequence))
	return e != nil && e.sequence == sequence
}

// mergeAround merges segment i with a neighbour if both fit in one. It leaves the last segment alone, which takes new records.
// Each merge ends a segment, and copies at most as many bytes as were appended to fill it.
func (l *log) mergeAround(i int) {
	if !l.merge(i) {
		l.merge(i - 1)
	}
}

func (l *log) merge(i int) bool {
	if i < 0 || i+2 >= len(l.segments) {
		return false
	}
	a, b := l.segments[i], l.segments[i+1]
	if a.live+b.live > l.segmentCost {
		return false
	}
	data := 0
	for _, s := range []*segment{a, b} {
		for j := s.first; j < len(s.entries); j++ {
			if e := &s.entries[j]; e.tag != nil {
				data += e.extension + e.payload
			}
		}
	}
	merged := &segment{entries: make([]entry, 0, a.records+b.records), data: make([]byte, 0, data)}
	merged.move(a)
	merged.move(b)
	l.segments[i] = merged
	l.segments = slices.Delete(l.segments, i+1, i+2)
	return true
}

// trackTags begins or ends that tags have the sequence numbers of their records.
func (l *log) trackTags(track bool) {
	if track == l.perTag {
		return
	}
	l.perTag = track
	for _, t := range l.tags {
		t.sequences = queue[uint64]{}
	}
	if !track {
		return
	}
	for p := l.left(place{}); l.at(p) != nil; p = l.next(p) {
		e := l.at(p)
		e.tag.sequences.push(e.sequence)
	}
}

// boundTag removes the oldest records of the tag until it has at most limit.
func (l *log) boundTag(t *tag, limit int64) {
	for int64(t.records) > limit {
		l.remove(l.seek(*t.sequences.front()))
	}
}

// countAll returns how many records have a greater sequence number than floor.
func (l *log) countAll(floor uint64) uint64 {
	p := l.seek(floor + 1)
	if p.segment == len(l.segments) {
		return 0
	}
	var n uint64
	for at := p.segment; at == p.segment && l.at(p) != nil; p = l.next(p) {
		n++
	}
	for ; p.segment < len(l.segments); p.segment++ {
		n += uint64(l.segments[p.segment].records)
	}
	return n
}
