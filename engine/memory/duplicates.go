package memory

import "time"

// idOverhead is what a remembered ID takes beside its text.
const idOverhead = 96

// duplicates remembers the IDs of stored records for a time. It forgets the oldest earlier if they take more than limit bytes.
type duplicates struct {
	window time.Duration
	limit  int64
	bytes  int64
	known  map[string]struct{}
	oldest queue[storedID]
}

type storedID struct {
	id     string
	stored int64
}

// seen reports whether a record with that ID was stored within the window.
func (d *duplicates) seen(id string, now int64) bool {
	d.forget(now)
	_, ok := d.known[id]
	return ok
}

// add remembers the ID of a record. The ID is not known yet.
func (d *duplicates) add(id string, stored int64) {
	if d.known == nil {
		d.known = map[string]struct{}{}
	}
	d.known[id] = struct{}{}
	d.oldest.push(storedID{id, stored})
	d.bytes += idOverhead + int64(len(id))
}

// forget removes the IDs whose time is over, and those above the limit.
func (d *duplicates) forget(now int64) {
	for d.oldest.len() > 0 && (d.bytes > d.limit || d.oldest.front().stored <= now-int64(d.window)) {
		id := d.oldest.pop().id
		delete(d.known, id)
		d.bytes -= idOverhead + int64(len(id))
	}
	if len(d.known) == 0 {
		d.known = nil // a map does not shrink
	}
}
