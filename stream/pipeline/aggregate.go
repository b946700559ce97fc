package pipeline

import (
	"encoding/binary"
	"math"

	"example.com/ferry/field"
)

// maxDistinct is how many different values a distinct count tells apart, and a distinct step remembers for each group.
const maxDistinct = 4096

type aggregateKind uint8

const (
	count aggregateKind = iota
	sum
	mean
	least
	greatest
	first
	last
	distinctCount
)

var aggregateNames = [...]string{"count", "sum", "mean", "min", "max", "first", "last", "distinct_count"}

// aggregate is a compiled Aggregation.
type aggregate struct {
	kind  aggregateKind
	name  []byte // quotedName
	value int    // index of the operand in the reader; -1 for count
}

// numeric reports whether the aggregate needs a number.
func (a *aggregate) numeric() bool { return a.kind >= sum && a.kind <= greatest }

// accumulator is the state of one aggregate over the messages so far. Each kind uses its part of it.
type accumulator struct {
	count  uint64
	number float64             // the sum, the least or the greatest
	text   []byte              // the first or last value, in JSON
	seen   map[uint64]struct{} // hashes of the values
}

// collection is the state of all aggregates of a window or group.
type collection struct {
	count  uint64
	newest int64 // time of the newest message, in Unix nanoseconds
	each   []accumulator
}

// aggregates are the aggregates of one step.
type aggregates struct {
	list    []aggregate
	reader  *reader
	numbers []float64 // of the last message, by aggregate
	texts   [][]byte  // of the last message, by aggregate, in JSON
}

// readValues reads the values of m. It reports whether m has all of them in the form that the aggregates need.
func (a *aggregates) readValues(r *run, m *message) bool {
	if len(a.reader.operands) > 0 {
		a.reader.read(r.typed[m.typ], m)
	}
	for i := range a.list {
		each := &a.list[i]
		if each.kind == count {
			continue
		}
		v := &a.reader.values[each.value]
		switch {
		case v.Kind == field.Missing:
			return false
		case each.numeric():
			n, ok := v.Number()
			if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
				return false
			}
			a.numbers[i] = n
		default:
			a.texts[i] = appendValue(a.texts[i][:0], v)
		}
	}
	return true
}

// add adds the values of the last message that read has read.
func (a *aggregates) add(c *collection, time int64) {
	if c.each == nil {
		c.each = make([]accumulator, len(a.list))
		c.newest = time
	}
	c.count++
	c.newest = max(c.newest, time)
	for i := range a.list {
		each := &c.each[i]
		each.count++
		switch n := a.numbers[i]; a.list[i].kind {
		case sum, mean:
			each.number += n
		case least:
			if each.count == 1 || n < each.number {
				each.number = n
			}
		case greatest:
			if each.count == 1 || n > each.number {
				each.number = n
			}
		case first:
			if each.count == 1 {
				each.text = append(each.text, a.texts[i]...)
			}
		case last:
			each.text = append(each.text[:0], a.texts[i]...)
		case distinctCount:
			if each.seen == nil {
				each.seen = map[uint64]struct{}{}
			}
			if len(each.seen) < maxDistinct {
				each.seen[hash(a.texts[i])] = struct{}{}
			}
		}
	}
}

// merge adds the state of a session to that of an earlier one.
func (a *aggregates) merge(into, from *collection) {
	into.count += from.count
	into.newest = max(into.newest, from.newest)
	for i := range a.list {
		to, each := &into.each[i], &from.each[i]
		to.count += each.count
		switch a.list[i].kind {
		case sum, mean:
			to.number += each.number
		case least:
			to.number = min(to.number, each.number)
		case greatest:
			to.number = max(to.number, each.number)
		case last:
			to.text = each.text
		case distinctCount:
			if to.seen == nil { // damaged state
				to.seen = map[uint64]struct{}{}
			}
			for h := range each.seen {
				if len(to.seen) < maxDistinct {
					to.seen[h] = struct{}{}
				}
			}
		}
	}
}

// appendRecord appends the results as fields of a record.
func (a *aggregates) appendRecord(dst []byte, c *collection) []byte {
	for i := range a.list {
		each := &c.each[i]
		dst = appendName(dst, a.list[i].name)
		switch a.list[i].kind {
		case count:
			dst = appendFloat(dst, float64(each.count))
		case mean:
			dst = appendFloat(dst, each.number/float64(each.count))
		case sum, least, greatest:
			dst = appendFloat(dst, each.number)
		case first, last:
			dst = append(dst, each.text...)
		case distinctCount:
			dst = appendFloat(dst, float64(len(each.seen)))
		}
	}
	return dst
}

// append appends c as a part of saved state.
func (c *collection) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, c.count)
	dst = binary.AppendVarint(dst, c.newest)
	for i := range c.each {
		each := &c.each[i]
		dst = binary.AppendUvarint(dst, each.count)
		dst = appendFloatBits(dst, each.number)
		dst = appendBytes(dst, each.text)
		dst = binary.AppendUvarint(dst, uint64(len(each.seen)))
		for h := range each.seen {
			dst = binary.LittleEndian.AppendUint64(dst, h)
		}
	}
	return dst
}

// read reads what append has appended, for n aggregates.
func (c *collection) read(s *saved, n int) {
	c.count, c.newest = s.uvarint(), s.varint()
	if c.count == 0 { // state is made for a message
		s.fail()
		return
	}
	c.each = make([]accumulator, n)
	for i := range c.each {
		each := &c.each[i]
		each.count, each.number = s.uvarint(), s.float()
		each.text = append([]byte(nil), s.bytes()...)
		if values := s.count(); values > 0 {
			each.seen = make(map[uint64]struct{}, values)
			for range values {
				each.seen[s.uint64()] = struct{}{}
			}
		}
	}
}
