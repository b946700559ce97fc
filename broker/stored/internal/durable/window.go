package durable

import (
	"slices"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/internal/bufpool"
)

// Config bounds a Window and says how failed records are delivered again.
type Config struct {
	MaxBytes      int             // memory of the records; see Room
	AckWait       time.Duration   // a record that is neither acked nor in progress for this long came back
	Backoff       []time.Duration // wait before a record is delivered again, by its number of failed deliveries; the last holds for all further
	MaxDeliveries int             // a record that came back so often is a dead letter; 0 means no bound
}

// Record is one record of a stream.
type Record struct {
	Sequence uint64
	Key      uint64       // hash of the key; two keys with one hash are one key
	Content  *bufpool.Buf // the Window takes over the reference
}

// Delivery is a record to be sent to a member.
type Delivery struct {
	Member   *Member
	Sequence uint64
	Before   uint32       // deliveries before this one
	Content  *bufpool.Buf // valid until the next call of another method than Next

	last, avoid *Member // of the record and its key, before
}

// DeadLetter is a record that is never delivered again. It stays in the Window until Buried.
type DeadLetter struct {
	Sequence   uint64
	Deliveries uint32
	Content    *bufpool.Buf // valid until Buried
	Reason     string
}

// Window holds the records of a durable that were read and are not done.
type Window struct {
	cfg      Config
	slots    []slot // by sequence number, from first on; includes entries that are done
	first    int    // index of the first slot in use
	scan     int    // index of the first slot that Next has not looked at
	undone   int    // slots in use whose entries are not done
	used     int    // bytes
	read     uint64 // the last sequence number that was read
	started  bool   // read is valid
	members  []*Member
	turn     int // index of the member whose turn it is; see choose
	keys     map[uint64]*key
	resumed  keyHeap
	delayed  keyHeap
	known    []engine.Deliveries // of earlier windows; those of records that were not read yet
	dead     []DeadLetter        // that TakeDead has not returned yet
	dying    int
	free     []*entry
	freeKeys []*key
	ranges   []engine.Range // reused by Position
	counts   []engine.Deliveries

	Changed     bool   // Position returns something else than when the caller has last set this to false
	Redelivered uint64 // deliveries of records that were delivered before
	Looked      uint64 // records that the ranges of Ack and Nak made the Window look at
}

// slot is an entry and its sequence number, which is here so that a search stays in one array.
type slot struct {
	sequence uint64
	entry    *entry
}

// Memory of a record, in bytes.
const (
	overhead  = 256            // about what it takes beside its content: entry, slot, key and its place in the map
	MinMemory = overhead + 512 // the least that Room shrinks by: the content is in a buffer of at least 512 bytes
)

// New returns an empty Window of a cursor that begins at a Position. The Window does not change what that refers to.
func New(cfg Config, at engine.Position) *Window {
	return &Window{cfg: cfg, keys: map[uint64]*key{}, known: at.Deliveries}
}

// Configure replaces the Config. AckWait holds for records in flight, too.
func (w *Window) Configure(cfg Config) { w.cfg = cfg }

// Room returns the bytes of memory that further records may use. It is negative if a large record has exceeded MaxBytes.
func (w *Window) Room() int { return w.cfg.MaxBytes - w.used }

// Roomy reports whether enough room is left to read on: an eighth of MaxBytes.
func (w *Window) Roomy() bool { return w.Room() >= w.cfg.MaxBytes/8 }

// Held returns the number of records and the bytes of memory in the Window.
func (w *Window) Held() (records, bytes int) { return w.undone, w.used }

// Delayed returns the number of keys whose first record waits for its time.
func (w *Window) Delayed() int { return len(w.delayed.keys) }

// Dying returns the number of dead letters that are not buried yet.
func (w *Window) Dying() int { return w.dying }

// ReadTo notes that all records up to a sequence number were read, and that those which were not added are done.
func (w *Window) ReadTo(sequence uint64) {
	w.started, w.read, w.Changed = true, max(w.read, sequence), true
	for len(w.known) > 0 && w.known[0].Sequence <= w.read {
		w.known = w.known[1:]
	}
}

// Add adds the next record that was read. Its sequence number is greater than those before. A record without a delivery left is a dead
// letter.
func (w *Window) Add(r Record) {
	var deliveries uint32
	if i, ok := slices.BinarySearchFunc(w.known, r.Sequence, compareSequence); ok {
		deliveries = w.known[i].Count
	}
	w.ReadTo(r.Sequence)
	var e *entry
	if n := len(w.free); n > 0 {
		e, w.free = w.free[n-1], w.free[:n-1]
	} else {
		e = &entry{}
	}
	*e = entry{sequence: r.Sequence, content: r.Content, deliveries: deliveries}
	w.compact()
	w.slots = append(w.slots, slot{r.Sequence, e})
	w.undone++
	w.used += overhead + cap(r.Content.B)
	if w.cfg.MaxDeliveries > 0 && int(deliveries) >= w.cfg.MaxDeliveries {
		w.die(e, "it was not acked before its durable had no member left")
		return
	}
	k := w.keys[r.Key]
	if k == nil {
		k = w.newKey(r.Key)
	}
	e.key, e.prev = k, k.tail
	if k.tail == nil {
		k.head = e
	} else {
		k.tail.next = e
	}
	k.tail = e
	if k.unsent == nil {
		k.unsent = e
	}
}

func (w *Window) newKey(hash uint64) *key {
	var k *key
	if n := len(w.freeKeys); n > 0 {
		k, w.freeKeys = w.freeKeys[n-1], w.freeKeys[:n-1]
	} else {
		k = &key{}
	}
	*k = key{hash: hash, index: -1}
	w.keys[hash] = k
	return k
}

// compact makes room for another slot. It moves the slots when at least half of them are done, so a record is moved once on average.
func (w *Window) compact() {
	if len(w.slots) < cap(w.slots) || w.undone > len(w.slots)/2 {
		return
	}
	kept, scan := w.slots[:0], 0
	for i, s := range w.slots[w.first:] {
		if w.first+i == w.scan {
			scan = len(kept)
		}
		if s.entry.state == done {
			w.recycle(s.entry)
			continue
		}
		kept = append(kept, s)
	}
	if w.scan == len(w.slots) {
		scan = len(kept)
	}
	clear(w.slots[len(kept):])
	w.slots, w.first, w.scan = kept, 0, scan
}

// maxFree bounds the lists of entries and keys for reuse.
const maxFree = 1 << 16

func (w *Window) recycle(e *entry) {
	if len(w.free) < maxFree {
		*e = entry{}
		w.free = append(w.free, e)
	}
}

// trim removes the slots at the front that are done.
func (w *Window) trim() {
	for w.first < len(w.slots) && w.slots[w.first].entry.state == done {
		w.recycle(w.slots[w.first].entry)
		w.slots[w.first] = slot{}
		w.first++
	}
	w.scan = max(w.scan, w.first)
	if w.first == len(w.slots) {
		w.slots, w.first, w.scan = w.slots[:0], 0, 0
	}
}

// search returns the index of the first slot with that sequence number or a greater one.
func (w *Window) search(sequence uint64) int {
	i, _ := slices.BinarySearchFunc(w.slots[w.first:], sequence, func(s slot, sequence uint64) int {
		switch {
		case s.sequence < sequence:
			return -1
		case s.sequence > sequence:
			return 1
		}
		return 0
	})
	return w.first + i
}

// Discard releases the content of all records. The Window must not be used afterwards.
func (w *Window) Discard() {
	for _, s := range w.slots[w.first:] {
		if s.entry.state != done {
			s.entry.content.Release()
			s.entry.content = nil
		}
	}
	w.slots, w.first, w.scan, w.undone, w.used = nil, 0, 0, 0, 0
}
