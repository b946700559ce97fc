package file

import (
	"cmp"
	"slices"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/engine/log"
)

// duplicates remembers the IDs of stored records for a time.
type duplicates struct {
	known  map[string]struct{}
	oldest []knownID // sorted by time
	kept   uint64    // the records of all IDs are in segments from this number on
}

// knownID is an ID and where it is stored.
type knownID struct {
	id       string // as idOf returns it
	tag      int    // where the ID itself begins
	stored   int64
	sequence uint64
	kept     uint64 // a number in the segment that has the ID
}

// idOf returns what identifies a record among those of a stream: its ID, behind its tag unless the tags share their IDs. A tag has no
// zero byte.
func idOf(shared bool, tag, id string) string {
	if shared {
		return string(append([]byte(nil), id...))
	}
	return tag + "\x00" + id
}

// seen reports whether a record with that ID was stored within the window.
func (d *duplicates) seen(id string, now int64, window time.Duration) bool {
	n := 0
	for n < len(d.oldest) && d.oldest[n].stored <= now-int64(window) {
		delete(d.known, d.oldest[n].id)
		n++
	}
	d.oldest = d.oldest[n:]
	if len(d.oldest) == 0 {
		d.known, d.oldest = nil, nil // neither shrinks
	}
	_, ok := d.known[id]
	return ok
}

// add remembers an ID that is not known yet.
func (d *duplicates) add(k knownID) {
	if d.known == nil {
		d.known = map[string]struct{}{}
	}
	d.known[k.id] = struct{}{}
	d.oldest = append(d.oldest, k)
}

// loadIDs reads the IDs of the window. The caller holds the lock.
func (s *stream) loadIDs() error {
	s.ids = duplicates{}
	after := now() - int64(s.config.DuplicateWindow)
	err := s.log.Known(after, func(tag, id []byte, sequence uint64, stored int64) {
		key := idOf(s.config.SharedIDs, string(tag), string(id))
		if _, known := s.ids.known[key]; !known {
			s.ids.add(knownID{id: key, stored: stored, sequence: sequence, kept: sequence, tag: len(key) - len(id)})
		}
	})
	slices.SortFunc(s.ids.oldest, func(a, b knownID) int { return cmp.Compare(a.stored, b.stored) })
	return err
}

// keepIDs stores the IDs again whose segments are gone. The caller holds the lock.
func (s *stream) keepIDs(state log.State) {
	if state.Kept <= s.ids.kept {
		return
	}
	s.ids.kept = state.Kept
	oldest := now() - int64(s.config.DuplicateWindow)
	for i := range s.ids.oldest {
		k := &s.ids.oldest[i]
		if k.kept >= state.Kept || k.stored <= oldest {
			continue
		}
		k.kept = state.Next
		r := engine.Record{Sequence: k.sequence, Stored: k.stored, ID: k.id[k.tag:]}
		if k.tag > 0 {
			r.Tag = k.id[:k.tag-1]
		}
		s.log.Note(&r)
	}
}
