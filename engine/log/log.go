package log

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/ferry/engine"
)

// Config configures a Log.
type Config struct {
	Store       Store
	Interval    time.Duration                // between two syncs; 0 means that each group is synced before it is confirmed, less than 0 that only whole segments are
	Retry       time.Duration                // between two attempts to write; 0 means 200 ms, less than 0 that a failed group is removed and Commit returns why: not with an interval
	SegmentSize int64                        // bytes at which a segment ends
	Room        func(bytes int64) error      // says why so many bytes may not be written now; nil means that they may
	Stored      func(records []Stored)       // called for each group when it is in the index, before it is confirmed, and, with none, when it is again; may be nil
	IDsAfter    func() int64                 // the IDs of removed records that were stored later are kept; nil means none
	Failed      func(what string, err error) // logs what does not end the Log; may be nil
}

// Stored is a record that has become part of a Log.
type Stored struct {
	Sequence uint64
	Tag      string
	Cost     int64
}

// Log is the records of a stream. All methods may overlap.
type Log struct {
	config  Config
	salt    uint32
	reading shared

	mu        sync.RWMutex
	segments  []*segment
	active    *segment // the last of segments if it takes records; nil if there is none
	tags      map[string]*tag
	gone      numbers // removed numbers from floor on
	floor     uint64  // all records before it are removed
	newest    uint64  // number of the last record in the index
	records   uint64
	bytes     int64
	next      uint64 // number of the next record
	stored    int64  // time of the last record
	serial    uint64
	removals  []Range // that no frame names yet
	released  uint64  // the IDs of the segments before it are stored again
	gathering *group
	spare     *group // to gather next; nil if there is none
	running   bool
	syncDue   bool
	closing   bool
	finished  bool  // the last segment is sealed
	err       error // why records wait
	ended     chan struct{}
	stop      chan struct{} // closed when the Log may not wait any longer
	compacts  bool          // compactor runs
	compactor sync.WaitGroup
	doomed    []string // files that could not be removed

	// Of the goroutine that writes.
	file     File
	end      int64    // of what is written to file
	synced   int64    // of what is on the disk
	reserved uint64   // numbers up to this one may be given with an interval
	unsynced []*group // that a failure has to write again
	indexed  []Stored // what is passed to Config.Stored
	hidden   bool     // a failure has taken records out of the index, and Stored was not called since
	timer    *time.Timer

	// Of the user, one call at a time.
	head         *Reader
	oldest       Stored // what head has read last
	oldestStored int64
}

// group is what gathers while another group is written.
type group struct {
	first   uint64 // the next number when it began
	buf     []byte
	entries []entry
	removed []Range
	ids     uint64
	noted   int64  // time of the last note
	release uint64 // released when the group is on the disk
	done    []func(error)
	offset  int64
	written bool
	indexed bool
}

// entry is a record of a group.
type entry struct {
	sequence uint64
	stored   int64
	at, size int // in the buffer
	tag      *tag
	id       bool
}

func newSalt() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.BigEndian.Uint32(b[:])
}

// Append gives a record its number and time, and adds it to the group that gathers. It copies r. Commit has the group stored.
func (l *Log) Append(r *engine.Record, stored int64) (sequence uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(r, stored)
}

// Put is Append and Commit of one record: done gets the error of the group that has it.
func (l *Log) Put(r *engine.Record, stored int64, done func(error)) (sequence uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sequence = l.append(r, stored)
	l.commit(done)
	return sequence
}

func (l *Log) append(r *engine.Record, stored int64) (sequence uint64) {
	l.stored = max(stored, l.stored)
	e := *r
	e.Sequence, e.Stored = l.next, l.stored
	l.add(&e)
	return e.Sequence
}

// Insert adds a record that has a number and a time. Both are at least those of the record before it; the numbers between count as removed.
func (l *Log) Insert(r *engine.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skipTo(r.Sequence)
	l.stored = max(r.Stored, l.stored)
	l.add(r)
}

func (l *Log) skipTo(n uint64) {
	if n <= l.next {
		return
	}
	gap := Range{l.next, n - 1}
	if l.next == 1 && len(l.segments) == 0 { // the first segment begins at n
		l.gathering.first, l.floor, gap.First = n, n, n-1
	}
	l.next = n
	l.discard(gap)
}

func (l *Log) add(r *engine.Record) {
	g := l.gathering
	start := len(g.buf)
	g.buf = appendMessage(g.buf, l.salt, r)
	t := l.tags[r.Tag]
	if t == nil {
		t = &tag{name: strings.Clone(r.Tag)}
		l.tags[t.name] = t
	}
	t.waiting++
	g.entries = append(g.entries, entry{r.Sequence, r.Stored, start, len(g.buf) - start, t, r.ID != ""})
	if r.ID != "" {
		g.ids++
	}
	l.next = r.Sequence + 1
}

// Note stores the tag, the ID and the time of a record that is gone. Scan returns it.
func (l *Log) Note(r *engine.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.gathering
	g.buf = appendNote(g.buf, l.salt, r)
	g.noted = max(g.noted, r.Stored)
	g.ids++
}

// Release lets the segments before n go, when the notes before it are on the disk.
func (l *Log) Release(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished || len(l.segments) < 2 || l.segments[0].last >= n {
		return
	}
	g := l.gathering
	if g.release = n; len(g.buf) == 0 {
		g.buf = appendFrame(g.buf, l.salt, frame{kind: removed, sequence: l.next}) // it is on the disk behind earlier notes
	}
	l.start()
}

// Commit calls done when all that was appended and removed before is stored, in the order of the calls.
func (l *Log) Commit(done func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commit(done)
}

func (l *Log) commit(done func(error)) {
	if l.finished {
		go done(engine.ErrClosed)
		return
	}
	l.gathering.done = append(l.gathering.done, done)
	l.start()
}

// Remove removes a record that is in the Log, and returns false if it is not, or the Log is closed: another process may have its files.
func (l *Log) Remove(s Stored) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.finished && l.remove(s)
}

func (l *Log) remove(s Stored) bool {
	i := find(l.segments, s.Sequence)
	t := l.tags[s.Tag]
	if i == len(l.segments) || t == nil || s.Sequence < max(l.floor, l.segments[i].first) || l.gone.add(Range{s.Sequence, s.Sequence}) == 0 {
		return false
	}
	seg := l.segments[i]
	seg.tags.remove(t)
	seg.records--
	seg.bytes -= s.Cost
	l.records--
	l.bytes -= s.Cost
	t.records--
	l.forgetTag(t)
	l.removals = addRange(l.removals, Range{s.Sequence, s.Sequence})
	if s.Sequence > l.floor {
		seg.holes += s.Cost
	}
	l.raiseFloor()
	l.compactAround(seg)
	return true
}

// Discard removes the numbers of a range without reading what they have, also those that were not given yet. While a segment keeps other
// records, State and Count count what was discarded of it.
func (l *Log) Discard(r Range) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished { // another process may have the files
		return
	}
	if given := (Range{max(r.First, l.floor), min(r.Last, l.next-1)}); given.First <= given.Last {
		l.discard(given)
	}
	l.skipTo(r.Last + 1)
}

func (l *Log) discard(r Range) {
	l.gone.add(r)
	l.removals = addRange(l.removals, r)
	l.raiseFloor()
}

// Oldest returns the oldest record that is left. Its calls, and those of Trim, must not overlap.
func (l *Log) Oldest() (Stored, int64, bool) {
	if o := l.oldest; o.Sequence > 0 && l.has(o.Sequence) {
		return o, l.oldestStored, true
	}
	for {
		v, err := l.head.Read(true)
		if err == nil {
			l.oldest, l.oldestStored = Stored{v.Sequence(), l.tagNamed(v.Tag()).name, v.Cost()}, v.Stored()
			return l.oldest, l.oldestStored, true
		}
		var damage *DamageError
		if !errors.As(err, &damage) {
			return Stored{}, 0, false
		}
	}
}

// has reports whether a number is not removed.
func (l *Log) has(n uint64) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return n >= l.floor && !l.gone.has(n)
}

// Bounds are what Trim leaves. 0 means no bound.
type Bounds struct {
	Records uint64
	Bytes   int64
	From    int64 // what was stored at that time or later
}

// exceeded reports whether records are left beyond the bounds. The caller holds the lock.
func (l *Log) exceeded(b Bounds) bool {
	return b.Records > 0 && l.records > b.Records || b.Bytes > 0 && l.bytes > b.Bytes
}

// Trim removes the oldest records beyond bounds, and damaged ones before them. It calls removed for each, which must not call the Log. With
// a bound of time, it returns when the oldest record that is left was stored; 0 if there is none.
func (l *Log) Trim(b Bounds, removed func(Stored)) (oldest int64) {
	for {
		l.mu.RLock()
		exceeded := l.exceeded(b)
		l.mu.RUnlock()
		if !exceeded && b.From == 0 {
			return 0
		}
		_, at, ok := l.Oldest()
		if !ok || !exceeded && at >= b.From || !l.trimBuffered(b, removed) {
			if b.From == 0 {
				return 0
			}
			return at
		}
	}
}

// trimBuffered removes the oldest record, and those behind it that head has in its buffer. It returns false if the Log is closed, or the
// oldest record is being written again: it stays the oldest one.
func (l *Log) trimBuffered(b Bounds, removed func(Stored)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.finished { // another process may have the files
		return false
	}
	for l.oldest.Sequence > 0 && (l.exceeded(b) || l.oldestStored < b.From) {
		s := l.oldest
		if s.Sequence > l.floor {
			l.discard(Range{l.floor, s.Sequence - 1})
		}
		if !l.remove(s) {
			return false
		}
		removed(s)
		l.oldest, l.oldestStored = Stored{}, 0
		l.head.buffered(func(v View) bool {
			t := l.tags[string(v.Tag())]
			if t != nil {
				l.oldest, l.oldestStored = Stored{v.Sequence(), t.name, v.Cost()}, v.Stored()
			}
			return t == nil
		})
	}
	return true
}

func (l *Log) forgetTag(t *tag) {
	if t.records == 0 && t.waiting == 0 {
		delete(l.tags, t.name)
		if len(l.tags) == 0 {
			l.tags = map[string]*tag{} // a map does not shrink
		}
	}
}

// raiseFloor moves the floor over removed records, and drops the segments before it, except the last one on the disk, which has the number
// to go on from, and those whose IDs are wanted and not stored again.
func (l *Log) raiseFloor() {
	before := l.floor
	l.floor = min(l.gone.next(l.floor), l.next)
	l.gone.forget(before, l.floor)
	for _, s := range l.segments[find(l.segments, before):] {
		if s.last >= l.floor {
			break
		}
		l.forgetRecords(s)
	}
	keep := 1
	if l.active != nil && l.active.size == headerSize { // its first sync may fail
		keep = 2
	}
	for len(l.segments) > keep && l.empty(l.segments[0]) && !l.segments[0].compacting {
		s := l.segments[0]
		if s.last >= l.released && s.ids > 0 && l.config.IDsAfter != nil && s.lastStored > l.config.IDsAfter() {
			return
		}
		l.drop(s)
		l.segments = slices.Delete(l.segments, 0, 1)
	}
}

// empty reports whether all records of a segment are removed, and it takes no more.
func (l *Log) empty(s *segment) bool { return s.last < l.floor && s != l.active }

// drop forgets what a segment has, and removes its file.
func (l *Log) drop(s *segment) {
	l.forgetRecords(s)
	l.removeFile(s.name())
}

// forgetRecords ends the count of the records of a segment: what is left of them is damaged or discarded.
func (l *Log) forgetRecords(s *segment) {
	s.tags.each(func(t *tag, n uint32) bool {
		t.records -= uint64(n)
		l.forgetTag(t)
		return true
	})
	l.records -= s.records
	l.bytes -= s.bytes
	s.tags, s.records, s.bytes = counts{}, 0, 0
}

// removeFile removes a file, now or when the next one goes.
func (l *Log) removeFile(name string) {
	l.doomed = append(l.doomed, name)
	l.doomed = slices.DeleteFunc(l.doomed, func(name string) bool { return l.config.Store.Remove(name) == nil })
}

// State is the state of a Log.
type State struct {
	Records     uint64
	Bytes       int64
	First, Next uint64 // the oldest number that is not removed, and the next to be given
	Kept        uint64 // the first number of the oldest segment that is kept for its records
	Newest      uint64 // number of the newest record that is left; 0 if there is none
	Last        uint64 // number of the last record that is stored
	LastStored  int64
	Err         error // why records wait
}

// State returns the state.
func (l *Log) State() State {
	l.mu.RLock()
	defer l.mu.RUnlock()
	s := State{Records: l.records, Bytes: l.bytes, First: min(l.floor, l.newest+1), Next: l.next, Last: l.newest, LastStored: l.stored, Err: l.err}
	for _, kept := range l.segments {
		if s.Kept = kept.first; !l.empty(kept) {
			break
		}
	}
	if l.records > 0 {
		s.Newest = l.gone.previous(l.newest)
	}
	return s
}

// Removed returns how many numbers of r are removed.
func (l *Log) Removed(r Range) uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.removedIn(r)
}

func (l *Log) removedIn(r Range) (n uint64) {
	if r.First < l.floor {
		n = min(l.floor, r.Last+1) - r.First
		r.First = l.floor
	}
	return n + l.gone.count(r)
}

// Count returns how many records have a number of at least from and a tag that match takes. It looks at the tables of whole segments,
// and returns the numbers that the caller has to read itself because they are a part of one.
func (l *Log) Count(from uint64, match func(tag string) bool) (n uint64, rest Range) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, s := range l.segments[find(l.segments, from):] {
		if s.first < from && l.removedIn(Range{s.first, from - 1}) < from-s.first {
			rest = Range{from, s.last}
			continue
		}
		s.tags.each(func(t *tag, count uint32) bool {
			if match(t.name) {
				n += uint64(count)
			}
			return true
		})
	}
	return n, rest
}

// Close stores what was appended, or gives up when ctx ends, and closes the files.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return nil
	}
	l.closing = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.start()
	ended := l.ended
	l.mu.Unlock()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
		close(l.stop)
		<-ended
	}
	l.compactor.Wait()
	l.head.Close()
	return err
}
