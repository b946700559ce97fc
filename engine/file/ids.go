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
	shared bool // the tags share their IDs
	known  map[string]struct{}
	oldest []knownID // sorted by time
	kept   uint64    // the records of all IDs are in segments from this number on
}

// knownID is an ID and where it is stored.
type knownID struct {
	text     string // the tag, a zero byte, which no tag has, and the ID
	id       int    // where the ID begins
	stored   int64
	sequence uint64
	kept     uint64 // a number in the segment that has the ID
}

func newKnownID(tag, id string, sequence uint64, stored int64) knownID {
	return knownID{text: tag + "\x00" + id, id: len(tag) + 1, stored: stored, sequence: sequence, kept: sequence}
}

// key returns what identifies the record among those of the stream.
func (d *duplicates) key(k *knownID) string {
	if d.shared {
		return k.text[k.id:]
	}
	return k.text
}

// seen reports whether a record with that ID was stored within the window.
func (d *duplicates) seen(k *knownID, window time.Duration) bool {
	n := 0
	for n < len(d.oldest) && d.oldest[n].stored <= k.stored-int64(window) {
		delete(d.known, d.key(&d.oldest[n]))
		n++
	}
	d.oldest = d.oldest[n:]
	if len(d.oldest) == 0 {
		d.known, d.oldest = nil, nil // neither shrinks
	}
	_, ok := d.known[d.key(k)]
	return ok
}

// add remembers an ID, unless it is known.
func (d *duplicates) add(k knownID) {
	if d.known == nil {
		d.known = map[string]struct{}{}
	}
	before := len(d.known)
	if d.known[d.key(&k)] = struct{}{}; len(d.known) > before {
		d.oldest = append(d.oldest, k)
	}
}

// loadIDs reads the IDs of the window. Those that are not in the segments yet are known already. The caller holds the lock.
func (s *stream) loadIDs() error {
	ids := duplicates{shared: s.config.SharedIDs}
	err := s.log.Known(now()-int64(s.config.DuplicateWindow), func(tag, id []byte, sequence uint64, stored int64) {
		ids.add(newKnownID(string(tag), string(id), sequence, stored))
	})
	for _, k := range s.ids.oldest {
		ids.add(k)
	}
	slices.SortFunc(ids.oldest, func(a, b knownID) int { return cmp.Compare(a.stored, b.stored) })
	s.ids = ids
	return err
}

// keepIDs stores the IDs again whose segments have no records, and lets these go. The caller holds the lock.
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
		k.kept = state.Next - 1 // the segment that takes the note ends with it or later
		r := engine.Record{Sequence: k.sequence, Stored: k.stored, Tag: k.text[:k.id-1], ID: k.text[k.id:]}
		s.log.Note(&r)
	}
	s.log.Release(state.Kept)
}
