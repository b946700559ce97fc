package log

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"

	"example.com/ferry/engine"
)

const (
	retryAfter  = 200 * time.Millisecond // Config.Retry
	maxUnsynced = 16 << 20               // bytes that wait for the sync of an interval
	maxSpare    = 4 << 20                // bytes of a buffer that is used again
	maxIdle     = 64 << 10               // of one that is kept when there is nothing to write
	maxIndexed  = 1 << 10                // records of a list for Config.Stored that is kept then
	reserveStep = 1 << 16                // numbers that a sync allows to be given with an interval
)

// start has the goroutine run that writes, if it does not. The caller holds the lock.
func (l *Log) start() {
	if !l.running {
		l.running = true
		go l.run()
	}
}

// run writes groups until none is left.
func (l *Log) run() {
	for {
		l.mu.Lock()
		g := l.gathering
		work := len(g.buf) > 0 || len(g.done) > 0 || l.closing && len(l.removals) > 0
		syncNow := l.syncDue || l.closing
		if !work && !l.syncDue {
			if l.closing {
				l.mu.Unlock()
				l.finish()
				return
			}
			l.running = false
			if l.spare != nil && cap(l.spare.buf) > maxIdle {
				l.spare = nil
			}
			if cap(g.buf) > maxIdle {
				l.gathering = &group{first: g.first}
			}
			if cap(l.indexed) > maxIndexed {
				l.indexed = nil
			}
			l.mu.Unlock()
			return
		}
		if len(l.removals) > 0 && (work || syncNow) {
			g.removed, l.removals = l.removals, g.removed
		}
		next := l.next
		l.syncDue = false
		l.gathering = l.nextGroup()
		l.mu.Unlock()
		if len(g.removed) > 0 {
			g.nameRemoved(next, l.salt)
		}
		err := l.store(g, syncNow)
		if err == nil && l.config.Stored != nil && (len(g.entries) > 0 || l.hidden) {
			l.hidden = false
			l.indexed = l.indexed[:0]
			for i := range g.entries {
				e := &g.entries[i]
				l.indexed = append(l.indexed, Stored{e.sequence, e.tag.name, int64(e.size)})
			}
			l.config.Stored(l.indexed)
			clear(l.indexed)
		}
		for _, done := range g.done {
			done(err)
		}
		runtime.Gosched() // publishers that wait for done append to the next group
	}
}

// nameRemoved puts the frame of the removed numbers before the others: of a group that is written in part, a record must not be read
// without it, as the removed numbers before the record would count as lost.
func (g *group) nameRemoved(next uint64, salt uint32) {
	b := appendFrame(nil, salt, frame{kind: removed, sequence: next, body: appendRanges(nil, g.removed)})
	g.buf = slices.Insert(g.buf, 0, b...)
	for i := range g.entries {
		g.entries[i].at += len(b)
	}
}

// nextGroup returns an empty group. The caller holds the lock.
func (l *Log) nextGroup() *group {
	g := l.spare
	if l.spare = nil; g == nil {
		return &group{first: l.next}
	}
	clear(g.entries)
	clear(g.done)
	*g = group{first: l.next, buf: g.buf[:0], entries: g.entries[:0], done: g.done[:0], removed: g.removed[:0]}
	return g
}

// store writes a group, again and again until it succeeds or the Log may not wait. If it may not try again, the group is forgotten.
func (l *Log) store(g *group, syncNow bool) error {
	if len(g.buf) > 0 {
		l.unsynced = append(l.unsynced, g)
	}
	for {
		err := l.write(syncNow)
		l.mu.Lock()
		l.err = err
		l.mu.Unlock()
		switch {
		case err == nil:
			return nil
		case l.config.Retry < 0:
			l.forget()
			return err
		}
		select {
		case <-l.stop:
			return engine.ErrClosed
		case <-time.After(cmp.Or(l.config.Retry, retryAfter)):
		}
	}
}

// forget removes the records that could not be written. The next group says so, and what the forgotten ones have removed, unless the Log is
// closed. A segment that begins with it begins with their numbers: while the segment is empty, they do not count as lost.
func (l *Log) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unsynced) > 0 {
		l.gathering.first = l.unsynced[0].first
	}
	for _, g := range l.unsynced {
		for _, r := range g.removed {
			l.removals = addRange(l.removals, r)
		}
		for i := range g.entries {
			e := &g.entries[i]
			e.tag.waiting--
			l.forgetTag(e.tag)
			r := Range{e.sequence, e.sequence}
			l.gone.add(r)
			l.removals = addRange(l.removals, r)
		}
	}
	clear(l.unsynced)
	l.unsynced = l.unsynced[:0]
	l.raiseFloor()
	if l.closing {
		l.removals = nil
	}
}

// write writes the groups that are not written, and syncs them unless the interval does later.
func (l *Log) write(syncNow bool) error {
	var waiting, size int64
	for _, g := range l.unsynced {
		if size += int64(len(g.buf)); !g.written {
			waiting += int64(len(g.buf))
		}
	}
	if waiting > 0 {
		if l.config.Room != nil {
			if err := l.config.Room(waiting); err != nil {
				l.mu.Lock()
				l.released = max(l.released, l.floor) // room comes before IDs: what has no records goes at once
				l.raiseFloor()
				l.mu.Unlock()
				return err
			}
		}
		if l.file != nil && l.end > headerSize && l.end+waiting > l.config.SegmentSize {
			if err := l.seal(); err != nil {
				return err
			}
		}
		created, err := l.begin()
		if err != nil {
			return err
		}
		if err := l.writeGroups(); err != nil {
			if l.config.Interval < 0 {
				_ = l.file.Sync() // what was confirmed before; whole segments are synced as far as the disk does it
			}
			return l.abandon(err)
		}
		last := l.unsynced[len(l.unsynced)-1]
		syncNow = syncNow || created || l.config.Interval <= 0 || size > maxUnsynced || len(last.entries) > 0 && last.entries[len(last.entries)-1].sequence > l.reserved
	}
	if syncNow && l.file != nil && l.synced < l.end {
		if err := l.sync(); err != nil {
			return err
		}
	}
	l.index()
	if len(l.unsynced) > 0 && l.unsynced[0].written && l.synced == l.end {
		l.recycle()
	} else if len(l.unsynced) > 0 {
		l.mu.Lock()
		if !l.closing {
			if l.timer == nil {
				l.timer = time.AfterFunc(l.config.Interval, l.interval)
			} else if len(l.unsynced) == 1 {
				l.timer.Reset(l.config.Interval)
			}
		}
		l.mu.Unlock()
	}
	return nil
}

// recycle forgets the groups that are on the disk.
func (l *Log) recycle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g := l.unsynced[0]; cap(g.buf) <= maxSpare {
		l.spare = g // of which run may use the rest until it takes it
	}
	for _, g := range l.unsynced {
		l.released = max(l.released, g.release)
	}
	l.raiseFloor()
	clear(l.unsynced)
	l.unsynced = l.unsynced[:0]
}

// interval is called when the time between two syncs is over.
func (l *Log) interval() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closing {
		l.syncDue = true
		l.start()
	}
}

// begin makes a segment, if none takes records.
func (l *Log) begin() (created bool, err error) {
	if l.file != nil {
		return false, nil
	}
	l.mu.Lock()
	l.serial++
	s := &segment{first: l.unsynced[0].first, serial: l.serial, salt: l.salt, size: headerSize}
	l.mu.Unlock()
	s.last = s.first - 1
	f, err := l.config.Store.Create(s.name())
	if err == nil {
		if _, err = f.WriteAt(s.header(), 0); err == nil {
			err = l.config.Store.Sync()
		}
		if err != nil {
			_ = f.Close()
			l.mu.Lock()
			l.removeFile(s.name())
			l.mu.Unlock()
		}
	}
	if err != nil {
		return false, fmt.Errorf("log: a new segment: %w", err)
	}
	l.file, l.end, l.synced, l.reserved = f, headerSize, 0, 0
	l.mu.Lock()
	l.active = s
	l.segments = append(l.segments, s)
	l.mu.Unlock()
	return true, nil
}

// writeGroups writes the groups that are not written, behind one another.
func (l *Log) writeGroups() error {
	for _, g := range l.unsynced {
		if g.written {
			continue
		}
		if n := len(g.entries); l.config.Interval > 0 && n > 0 && g.entries[n-1].sequence > l.reserved {
			b := appendFrame(nil, l.salt, frame{kind: reserve, sequence: g.entries[n-1].sequence + reserveStep})
			if _, err := l.file.WriteAt(b, l.end); err != nil {
				return err
			}
			l.end += int64(len(b))
		}
		if _, err := l.file.WriteAt(g.buf, l.end); err != nil {
			return err
		}
		g.offset, g.written = l.end, true
		l.end += int64(len(g.buf))
	}
	return nil
}

// sync has all that is written on the disk.
func (l *Log) sync() error {
	if l.config.Interval >= 0 {
		if err := l.file.Sync(); err != nil {
			return l.abandon(err)
		}
	}
	l.synced = l.end
	if n := len(l.unsynced); n > 0 && l.config.Interval > 0 {
		for _, g := range l.unsynced {
			if n := len(g.entries); g.written && n > 0 && g.entries[n-1].sequence > l.reserved {
				l.reserved = g.entries[n-1].sequence + reserveStep
			}
		}
	}
	return nil
}

// index makes the groups that are written readable.
func (l *Log) index() {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.active
	for _, g := range l.unsynced {
		if g.indexed || !g.written {
			continue
		}
		g.indexed = true
		for i := range g.entries {
			e := &g.entries[i]
			s.place(e, g.offset+int64(e.at))
			e.tag.waiting--
			if !l.gone.has(e.sequence) && e.sequence >= l.floor {
				e.tag.records++
				s.tags.add(e.tag, 1)
				s.records++
				s.bytes += int64(e.size)
				l.records++
				l.bytes += int64(e.size)
			}
			l.newest = max(l.newest, e.sequence)
		}
		s.ids += g.ids
		s.lastStored = max(s.lastStored, g.noted)
		s.removals = append(s.removals, g.removed...)
		for _, r := range g.removed { // Discard: nothing has these numbers
			s.last, l.newest = max(s.last, r.Last), max(l.newest, r.Last)
		}
	}
	if s != nil {
		s.size = l.end
	}
}

// abandon ends the active segment where it was synced, after err. What is not on the disk is written to the next one. The file is not
// touched again: after an error of fdatasync the kernel may have dropped what it could not write.
func (l *Log) abandon(err error) error {
	if l.config.Retry < 0 {
		_ = l.file.Truncate(l.synced) // so that no later process finds what is forgotten
	}
	_ = l.file.Close() // nothing is confirmed by it
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.active
	l.file, l.active = nil, nil
	for i, g := range l.unsynced {
		if i == 0 && g.first > s.first {
			s.last = g.first - 1
		} else if i == 0 {
			s.last = s.first - 1
		}
		if g.indexed {
			l.hidden = true
			for i := range g.entries {
				e := &g.entries[i]
				e.tag.waiting++
				if e.sequence >= l.floor && !l.gone.has(e.sequence) {
					e.tag.records--
					s.tags.remove(e.tag)
					s.records--
					s.bytes -= int64(e.size)
					l.records--
					l.bytes -= int64(e.size)
				}
			}
		}
		g.written, g.indexed = false, false
	}
	l.newest = min(l.newest, s.last)
	s.size = l.synced
	s.marks = slices.DeleteFunc(s.marks, func(m mark) bool { return m.offset >= l.synced })
	s.tags.seal()
	if l.reserved > 0 {
		s.damaged = true // a compaction would forget the reserve frame, which counts until the next segment is on the disk
	}
	if l.synced == 0 { // nothing of it is on the disk
		l.segments = without(l.segments, []*segment{s})
		l.removeFile(s.name())
	}
	return fmt.Errorf("log: segment %s: %w", s.name(), err)
}

// seal ends the active segment with its summary.
func (l *Log) seal() error {
	l.mu.Lock()
	s := l.active
	named := upTo(nil, l.removals, s.last) // the counts are without these records. The next groups name them again
	for _, g := range l.unsynced {
		if !g.written {
			named = upTo(named, g.removed, s.last)
		}
	}
	var b []byte
	if len(named) > 0 {
		b = appendFrame(b, l.salt, frame{kind: removed, sequence: l.next, body: appendRanges(nil, named)})
		s.removals = append(s.removals, named...)
	}
	s.tags.seal()
	end := l.end + int64(len(b))
	b = s.appendSummary(b, end)
	l.mu.Unlock()
	_, err := l.file.WriteAt(b, l.end)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return l.abandon(err)
	}
	err = l.file.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	s.size, s.sealed, s.removals = end, true, nil
	l.file, l.active = nil, nil
	l.unsynced = slices.DeleteFunc(l.unsynced, func(g *group) bool {
		if g.written {
			l.released = max(l.released, g.release)
		}
		return g.written
	})
	l.raiseFloor()
	l.compactAround(s)
	if err != nil {
		return fmt.Errorf("log: segment %s: %w", s.name(), err)
	}
	return nil
}

// finish seals the active segment when the Log is closed.
func (l *Log) finish() {
	_ = l.store(new(group), true) // what is not stored was refused already
	if l.file != nil {
		if err := l.seal(); err != nil && l.config.Failed != nil {
			l.config.Failed("the last segment is not sealed: it is read in full at the next start", err)
		}
	}
	l.mu.Lock()
	l.running, l.finished = false, true
	late := l.gathering.done // since run has looked
	l.gathering.done = nil
	l.mu.Unlock()
	for _, done := range late {
		done(engine.ErrClosed)
	}
	close(l.ended)
}
