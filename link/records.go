package link

import (
	"cmp"
	"slices"
	"sort"

	"example.com/ferry/internal/peer"
)

// records is what an Outbox knows of the records of its spool, each by its index. A record is unsent, sent or confirmed:
//
//	in onWay or written   sent, or confirmed and not removed yet
//	below next            the same, or lost
//	others                unsent
type records struct {
	next     uint64         // index of the record that the reader sends next
	unsent   uint64         // no record behind this index is unsent
	last     uint64         // index of the last record
	unknown  uint64         // the tags of records up to this index are not known
	tags     map[string]int // unsent records behind unknown, by tag
	onWay    recordList     // that the reader has sent
	written  recordList     // whose messages were sent before they were written
	advanced uint64         // index of the last record that was removed
}

// recordList is records that are sent, in ascending order. They are confirmed in this order.
type recordList struct{ peer.FIFO[sentRecord] }

type sentRecord struct {
	index     uint64
	confirmed bool
}

// find returns the record with an index; nil if there is none.
func (l *recordList) find(index uint64) *sentRecord {
	all := l.All()
	i := sort.Search(len(all), func(i int) bool { return all[i].index >= index })
	if i == len(all) || all[i].index != index {
		return nil
	}
	return &all[i]
}

// unconfirmed returns the index of the first record below low that is not confirmed, or low.
func (l *recordList) unconfirmed(low uint64) uint64 {
	for _, r := range l.All() {
		if r.index >= low {
			break
		}
		if !r.confirmed {
			return r.index
		}
	}
	return low
}

// forget removes the records below low.
func (l *recordList) forget(low uint64) {
	for l.Len() > 0 && l.Front().index < low {
		l.Pop()
	}
}

// maxTags bounds the tags that are counted. With more of them, all tags wait for the records that there are.
const maxTags = 1 << 16

// open notes the records of an earlier process, up to last. The first one that was not removed has an index.
func (d *records) open(first, last uint64) {
	d.next, d.unsent, d.last, d.unknown, d.advanced = first, last, last, last, first-1
	d.tags = map[string]int{}
}

// drained reports whether no record is unsent.
func (d *records) drained() bool { return d.next > d.unsent }

// has reports whether unsent records have messages of a tag, or may have them.
func (d *records) has(tag string) bool {
	return !d.drained() && (d.next <= d.unknown || d.tags[tag] > 0)
}

// addUnsent notes that messages of a tag, which were not sent, were written.
func (d *records) addUnsent(index uint64, tag string) {
	if d.drained() {
		d.next = index // what is before it was sent
	}
	d.last, d.unsent = index, index
	if len(d.tags) >= maxTags && d.tags[tag] == 0 {
		d.unknown = index
		return
	}
	d.tags[tag]++
}

// addSent notes that messages, which were sent before, were written. confirmed says that they are confirmed meanwhile, or that the
// record does not count because its messages are still in memory.
func (d *records) addSent(index uint64, confirmed bool) {
	d.last = index
	d.written.Push(sentRecord{index, confirmed})
}

// passed reports whether the reader has nothing to do for a record: it was sent, or does not count.
func (d *records) passed(index uint64) bool {
	return index < d.next || d.written.find(index) != nil
}

// pass moves the reader behind a record. If none is unsent then, it forgets the tags: those of records that are lost are left.
func (d *records) pass(index uint64) {
	if d.next = max(d.next, index+1); d.drained() && len(d.tags) > 0 {
		clear(d.tags)
	}
}

// sent moves the reader behind a record of a tag that was sent.
func (d *records) sent(index uint64, tag string) {
	if index > d.unknown && d.tags[tag] > 0 {
		if d.tags[tag]--; d.tags[tag] == 0 {
			delete(d.tags, tag)
		}
	}
	d.onWay.Push(sentRecord{index: index})
	d.pass(index)
}

// confirm notes that a record is confirmed, which was sent.
func (d *records) confirm(index uint64) {
	r := d.onWay.find(index)
	if r == nil {
		r = d.written.find(index)
	}
	r.confirmed = true
}

// removable returns the index up to which the records can be removed, and whether it has grown.
func (d *records) removable() (index uint64, grown bool) {
	low := d.next
	if d.drained() {
		low = d.last + 1
	}
	low = d.written.unconfirmed(d.onWay.unconfirmed(low))
	d.onWay.forget(low)
	d.written.forget(low)
	if low <= d.advanced+1 {
		return d.advanced, false
	}
	d.advanced = low - 1
	return d.advanced, true
}

// disconnected makes the records unsent that are sent and not confirmed. They are among flights.
func (d *records) disconnected(flights []flight) {
	for i := range flights {
		f := &flights[i]
		if f.index == 0 || f.part {
			continue
		}
		if d.unsent = max(d.unsent, f.index); f.index > d.unknown {
			d.tags[f.tag]++
		}
	}
	var confirmed []sentRecord
	for _, list := range [...]*recordList{&d.onWay, &d.written} {
		for _, r := range list.All() {
			if r.confirmed {
				confirmed = append(confirmed, r)
			}
		}
	}
	slices.SortFunc(confirmed, func(a, b sentRecord) int { return cmp.Compare(a.index, b.index) })
	d.onWay, d.written = recordList{}, recordList{}
	for _, r := range confirmed {
		d.written.Push(r)
	}
	d.next = d.advanced + 1
}
