package memory

import (
	"example.com/ferry"
	"example.com/ferry/engine"
)

// recordOverhead is what a record counts beside its texts and bytes: its entry, and its share of what finds it.
const recordOverhead = 128

// costOf returns the bytes that a record counts.
func costOf(r *engine.Record) int64 {
	return recordOverhead + int64(len(r.Tag)+len(r.ID)+len(r.Extension)+len(r.Payload))
}

// segment is a run of consecutive records of a log. Its bytes never move and are never overwritten, so a reader may keep them
// without the lock of the stream.
type segment struct {
	entries []entry // sorted by sequence number, with those of removed records
	data    []byte  // extensions and payloads
	used    int64   // cost of all records, with removed ones
	live    int64   // cost of the records that are left
	records int     // that are left
	first   int     // index of the first entry that is left; len(entries) if none is
}

// entry is one record of a segment.
type entry struct {
	sequence  uint64
	stored    int64
	time      int64
	tag       *tag // nil if the record was removed
	id        string
	offset    int // of the extension in data; the payload follows it
	extension int
	payload   int
	typ       ferry.Type
	validated bool
}

func (e *entry) cost() int64 {
	return recordOverhead + int64(len(e.tag.name)+len(e.id)+e.extension+e.payload)
}

// record returns the record of entry i. It shares the memory of the segment.
func (s *segment) record(i int) engine.Record {
	e := &s.entries[i]
	middle := e.offset + e.extension
	end := middle + e.payload
	return engine.Record{
		Sequence:  e.sequence,
		Stored:    e.stored,
		Tag:       e.tag.name,
		Type:      e.typ,
		Validated: e.validated,
		Time:      e.time,
		ID:        e.id,
		Extension: s.data[e.offset:middle:middle],
		Payload:   s.data[middle:end:end],
	}
}

// room reports whether a record fits, in a segment that may have that cost.
func (s *segment) room(r *engine.Record, limit int64) bool {
	return s.used+costOf(r) <= limit && s.roomForData(r)
}

func (s *segment) roomForData(r *engine.Record) bool {
	return len(s.data)+len(r.Extension)+len(r.Payload) <= cap(s.data)
}

// add appends a record for which there is room.
func (s *segment) add(r *engine.Record, t *tag, sequence uint64, stored int64, id string) {
	s.entries = append(s.entries, entry{
		sequence:  sequence,
		stored:    stored,
		time:      r.Time,
		tag:       t,
		id:        id,
		offset:    len(s.data),
		extension: len(r.Extension),
		payload:   len(r.Payload),
		typ:       r.Type,
		validated: r.Validated,
	})
	s.data = append(append(s.data, r.Extension...), r.Payload...)
	cost := costOf(r)
	s.used += cost
	s.live += cost
	s.records++
}

// move appends the records that are left in other.
func (s *segment) move(other *segment) {
	for i := other.first; i < len(other.entries); i++ {
		if e := &other.entries[i]; e.tag != nil {
			r := other.record(i)
			s.add(&r, e.tag, e.sequence, e.stored, e.id)
		}
	}
}

// tag is a tag with records in a log.
type tag struct {
	name      string
	records   int
	sequences queue[uint64] // of its records, if the log bounds the records of a tag; some may be removed already
}
