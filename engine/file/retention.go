package file

import (
	"errors"
	"io"
	"slices"
	"time"

	"example.com/ferry/engine/log"
)

// errEnd is the error of a log.Reader at the end.
var errEnd = io.EOF

// tagRecords is the records of a tag, oldest first.
type tagRecords struct{ list []tagRecord }

type tagRecord struct {
	sequence uint64
	cost     int64
}

// trackTags begins or ends that the stream knows the records of each tag. It reads all of them. The caller holds the lock.
func (s *stream) trackTags() error {
	if s.config.MaxPerTag == 0 {
		s.perTag = nil
		return nil
	}
	if s.perTag != nil {
		for tag, of := range s.perTag {
			s.trim(tag, of)
		}
		return nil
	}
	s.perTag = map[string]*tagRecords{}
	r := s.log.Reader(1, nil)
	defer r.Close()
	tags := newTags("")
	for last := s.log.State().Last; r.Next() <= last; {
		v, err := r.Read(true)
		var damage *log.DamageError
		switch {
		case errors.As(err, &damage):
			continue
		case errors.Is(err, errEnd):
			return nil
		case err != nil:
			s.perTag = nil // it is not complete
			return err
		case v.Sequence() > last:
			return nil
		}
		tag, _ := tags.match(v.Tag())
		s.boundTag(log.Stored{Sequence: v.Sequence(), Tag: tag, Cost: v.Cost()})
	}
	return nil
}

// boundTag adds a record to those of its tag, and removes the oldest ones beyond the bound.
func (s *stream) boundTag(r log.Stored) {
	of := s.perTag[r.Tag]
	if of == nil {
		of = new(tagRecords)
		s.perTag[r.Tag] = of
	}
	if n := len(of.list); n > 0 && of.list[n-1].sequence >= r.Sequence {
		return // trackTags has read it
	}
	of.list = append(of.list, tagRecord{r.Sequence, r.Cost})
	s.trim(r.Tag, of)
}

func (s *stream) trim(tag string, of *tagRecords) {
	for int64(len(of.list)) > s.config.MaxPerTag {
		s.log.Remove(log.Stored{Sequence: of.list[0].sequence, Tag: tag, Cost: of.list[0].cost})
		of.list = of.list[1:]
	}
}

// untrack forgets a removed record.
func (s *stream) untrack(r log.Stored) {
	of := s.perTag[r.Tag]
	if of == nil {
		return
	}
	i, found := slices.BinarySearchFunc(of.list, r.Sequence, func(a tagRecord, n uint64) int {
		switch {
		case a.sequence < n:
			return -1
		case a.sequence > n:
			return 1
		}
		return 0
	})
	if found {
		of.list = slices.Delete(of.list, i, i+1)
	}
	if len(of.list) == 0 {
		delete(s.perTag, r.Tag)
	}
}

// retain removes the oldest records until the stream is within its bounds of bytes, records and age. It runs again when the next record is too
// old, or a little later. The caller holds the lock.
func (s *stream) retain() {
	bounds := log.Bounds{Records: uint64(s.config.MaxRecords), Bytes: s.config.MaxBytes}
	at := now()
	if s.config.MaxAge > 0 {
		bounds.From = at - int64(s.config.MaxAge) + 1
	}
	oldest := s.log.Trim(bounds, s.untrack)
	s.keepIDs(s.log.State())
	if oldest > 0 {
		age := time.Duration(at - oldest)
		s.expireIn(max(s.config.MaxAge-age, min(s.config.MaxAge/16, time.Second)))
	}
}

// expire removes the records that are older than MaxAge. The caller holds the lock.
func (s *stream) expire() {
	if s.config.MaxAge > 0 {
		s.retain()
	}
}

// expireIn starts the timer, unless it runs.
func (s *stream) expireIn(d time.Duration) {
	switch {
	case s.expiring:
		return
	case s.expiry == nil:
		s.expiry = time.AfterFunc(d, s.expired)
	default:
		s.expiry.Reset(d)
	}
	s.expiring = true
}

func (s *stream) expired() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expiring = false
	if s.err == nil {
		s.retain()
	}
}
