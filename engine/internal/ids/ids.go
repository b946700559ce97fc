// Package ids remembers the IDs of records, so that an engine stores each of them once.
package ids

import "time"

// overhead is what a remembered ID takes beside its text.
const overhead = 96

// Known has the IDs of stored records. The zero value has none.
type Known struct {
	Shared bool // the tags share their IDs

	limit  int64 // bytes above which the oldest IDs are forgotten before their time; 0 means none
	bytes  int64
	known  map[string]struct{}
	oldest []ID // sorted by time
}

// ID is an ID and where it is stored.
type ID struct {
	text     string // the tag, a zero byte, which no tag has, and the ID
	at       int    // where the ID begins
	Stored   int64
	Sequence uint64
	Kept     uint64 // a number in the segment that has the ID
}

// New returns the ID of a record.
func New(tag, id string, sequence uint64, stored int64) ID {
	return ID{text: tag + "\x00" + id, at: len(tag) + 1, Stored: stored, Sequence: sequence, Kept: sequence}
}

// Tag returns the tag of the record.
func (i *ID) Tag() string { return i.text[:i.at-1] }

// ID returns the ID of the record.
func (i *ID) ID() string { return i.text[i.at:] }

func (i *ID) size() int64 { return overhead + int64(len(i.text)) }

// key returns what identifies the record among those of the stream.
func (k *Known) key(i *ID) string {
	if k.Shared {
		return i.ID()
	}
	return i.text
}

// Configure changes whether tags share their IDs, and above how many bytes the oldest are forgotten before their time. 0 means none.
func (k *Known) Configure(shared bool, limit int64) {
	all := k.oldest
	*k = Known{Shared: shared, limit: limit}
	for _, i := range all {
		k.Add(i)
	}
}

// Has reports whether a record with that ID was stored within the window. It forgets the IDs from before it.
func (k *Known) Has(i *ID, window time.Duration) bool {
	n := 0
	for n < len(k.oldest) && (k.oldest[n].Stored <= i.Stored-int64(window) || k.limit > 0 && k.bytes > k.limit) {
		delete(k.known, k.key(&k.oldest[n]))
		k.bytes -= k.oldest[n].size()
		k.oldest[n] = ID{}
		n++
	}
	k.oldest = k.oldest[n:]
	if len(k.oldest) == 0 {
		k.known, k.oldest = nil, nil // neither shrinks
	}
	_, ok := k.known[k.key(i)]
	return ok
}

// Add remembers an ID, unless it is known. IDs are added in the order of their times, or sorted by them at last.
func (k *Known) Add(i ID) {
	if k.known == nil {
		k.known = map[string]struct{}{}
	}
	before := len(k.known)
	if k.known[k.key(&i)] = struct{}{}; len(k.known) > before {
		k.oldest = append(k.oldest, i)
		k.bytes += i.size()
	}
}

// All returns the IDs. The caller may change Kept, and their order.
func (k *Known) All() []ID { return k.oldest }
