package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Config describes a stream.
type Config struct {
	Name     string   // 1 to 64 letters, digits, '-' and '_'
	Tags     []string // filters of the tags that the stream stores; those of two streams never match the same tag
	Replicas int      // copies on different machines; 0 means 1
	InMemory bool     // the records need not outlive the process that stores them

	// Retention. The oldest records are removed when a bound is exceeded. 0 means no bound.
	MaxAge     time.Duration
	MaxBytes   int64
	MaxRecords int64
	MaxPerTag  int64 // records of each tag; 1 keeps the last of each

	DuplicateWindow time.Duration // how long the engine remembers the ID of a record; 0 means DefaultDuplicateWindow
	SharedIDs       bool          // an ID belongs to the stream, so records of two tags with one ID are the same; otherwise it belongs to its tag
}

// DefaultDuplicateWindow is the DuplicateWindow of a Config that has none.
const DefaultDuplicateWindow = 2 * time.Minute

// CursorConfig describes a cursor.
type CursorConfig struct {
	Name   string // "" means that the cursor ends with Close. Otherwise as Config.Name
	Filter string // the cursor skips records whose tags do not match; "" matches all
	Where  string // predicate by which the opener of a named cursor chooses among its records; the engine keeps it and does not evaluate it
	Owner  string // identity for which a named cursor is made; the engine keeps that of the first opener
	Start  Start  // where an unnamed cursor, and a named one that is new, begins
	Holder string // name of the opener, for CursorInfo
}

// Start is the place in a stream where a cursor begins.
type Start struct {
	At       StartAt
	Sequence uint64 // with AtSequence
	Time     int64  // with AtTime: when the first record was stored at the earliest, in Unix nanoseconds
}

// StartAt is the kind of a Start.
type StartAt uint8

// The kinds.
const (
	AtNew      StartAt = iota // records stored from now on
	AtFirst                   // the first record that the stream has
	AtSequence                // the first record with that sequence number or a greater one
	AtTime                    // the first record stored at that time or later
)

// Position says which records of a cursor are done, and which others were delivered in vain.
type Position struct {
	Floor      uint64       // all records up to this sequence number are done
	Done       []Range      // and these, sorted and above Floor; at most MaxDone
	Deliveries []Deliveries // of records that are not done, sorted and above Floor; at most MaxDeliveries
}

// The most entries of a Position.
const (
	MaxDone       = 1024
	MaxDeliveries = 4096
)

// Deliveries is how often a record was delivered without success.
type Deliveries struct {
	Sequence uint64
	Count    uint32
}

// IsDone reports whether a record is done.
func (p Position) IsDone(sequence uint64) bool {
	i, found := slices.BinarySearchFunc(p.Done, sequence, func(r Range, sequence uint64) int { return cmp.Compare(r.First, sequence) })
	return sequence <= p.Floor || found || i > 0 && sequence-p.Done[i-1].First < p.Done[i-1].Count
}

// Clone returns a copy that shares nothing with p, with as many entries as a Position may have.
func (p Position) Clone() Position {
	p.Done = slices.Clone(p.Done[:min(len(p.Done), MaxDone)])
	p.Deliveries = slices.Clone(p.Deliveries[:min(len(p.Deliveries), MaxDeliveries)])
	return p
}

// Clamp takes out of p what lies behind the last record of a stream. A stream whose machine has lost power can have lost its last
// records, and gives their numbers to others. It reports whether p has changed.
func (p *Position) Clamp(last uint64) (changed bool) {
	if p.Floor > last {
		p.Floor, changed = last, true
	}
	for i, r := range p.Done {
		if r.First+r.Count-1 <= last {
			continue
		}
		changed = true
		if r.First > last {
			p.Done = p.Done[:i]
		} else {
			p.Done[i].Count = last - r.First + 1
			p.Done = p.Done[:i+1]
		}
		break
	}
	for i, d := range p.Deliveries {
		if d.Sequence > last {
			p.Deliveries, changed = p.Deliveries[:i], true
			break
		}
	}
	return changed
}

// Range is Count consecutive sequence numbers from First.
type Range struct {
	First, Count uint64
}

// Pass reports whether a record is in one of the ranges, which are sorted. The sequence numbers of its calls increase: ranges before them are
// removed.
func Pass(ranges *[]Range, sequence uint64) bool {
	r := *ranges
	for len(r) > 0 && sequence >= r[0].First+r[0].Count {
		r = r[1:]
	}
	*ranges = r
	return len(r) > 0 && sequence >= r[0].First
}

// Info is the state of a stream.
type Info struct {
	Config   Config
	Records  uint64
	Bytes    uint64 // as the engine counts them
	First    uint64 // sequence number of the oldest record
	Last     uint64 // sequence number of the newest record ever stored
	Pending  int    // bytes that wait to be stored
	Replicas []Replica
	Err      error // why appended records wait; nil if they do not
}

// Replica is one copy of a stream.
type Replica struct {
	Name    string
	Leader  bool
	Current bool   // it has all records
	Behind  uint64 // number of operations that it lacks
}

// CursorInfo is the state of a named cursor.
type CursorInfo struct {
	Name     string
	Filter   string
	Where    string
	Owner    string
	Position Position
	Lag      uint64 // records of the stream above Position.Floor that match Filter and are not done, as far as the engine can count them
	Holder   string // "" if the cursor is free
}

// ConflictError says that a named cursor exists with another filter or predicate than its opener asks for.
type ConflictError struct {
	Cursor        string
	Filter, Where string // of the cursor
	Wanted        CursorConfig
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("cursor %q exists with filter %q and predicate %q, not with filter %q and predicate %q", e.Cursor, e.Filter, e.Where, e.Wanted.Filter, e.Wanted.Where)
}

// UnsupportedError says what a Config asks for that an engine cannot do.
type UnsupportedError struct {
	Engine, Stream string
	Field          string // of Config, as the configuration names it
	Why            string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("engine %s cannot store stream %q: %s: %s", e.Engine, e.Stream, e.Field, e.Why)
}

// AppendError says that records can never be stored.
type AppendError struct {
	Stream  string
	Refused []int // indices of the records in the call, ascending
	Why     string
}

func (e *AppendError) Error() string {
	return fmt.Sprintf("stream %q: %d records were refused: %s", e.Stream, len(e.Refused), e.Why)
}

// CorruptError names a record whose bytes are damaged.
type CorruptError struct {
	Stream   string
	Sequence uint64
	Why      string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("stream %q: record %d is damaged: %s", e.Stream, e.Sequence, e.Why)
}
