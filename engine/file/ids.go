package file

import (
	"cmp"
	"slices"

	"example.com/ferry/engine"
	"example.com/ferry/engine/internal/ids"
	"example.com/ferry/engine/log"
)

// loadIDs reads the IDs of the window. Those that are not in the segments yet are known already. The caller holds the lock.
func (s *stream) loadIDs() error {
	known := ids.Known{Shared: s.config.SharedIDs}
	err := s.log.Known(now()-int64(s.config.DuplicateWindow), func(tag, id []byte, sequence uint64, stored int64) {
		known.Add(ids.New(string(tag), string(id), sequence, stored))
	})
	for _, i := range s.ids.All() {
		known.Add(i)
	}
	slices.SortFunc(known.All(), func(a, b ids.ID) int { return cmp.Compare(a.Stored, b.Stored) })
	s.ids, s.idsKept = known, 0
	return err
}

// keepIDs stores the IDs again whose segments have no records, and lets these go. The caller holds the lock.
func (s *stream) keepIDs(state log.State) {
	if state.Kept <= s.idsKept {
		return
	}
	s.idsKept = state.Kept
	oldest := now() - int64(s.config.DuplicateWindow)
	for n := range s.ids.All() {
		i := &s.ids.All()[n]
		if i.Kept >= state.Kept || i.Stored <= oldest {
			continue
		}
		i.Kept = state.Next - 1 // the segment that takes the note ends with it or later
		r := engine.Record{Sequence: i.Sequence, Stored: i.Stored, Tag: i.Tag(), ID: i.ID()}
		s.log.Note(&r)
	}
	s.log.Release(state.Kept)
}
