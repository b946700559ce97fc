package http2

import (
	"bytes"
	"slices"
)

// The encoder's table is small and knows one value for each name that usually repeats: user-agent, content-type, server. A lookup
// is one comparison. Strings are never coded with Huffman's code: that takes more CPU than the saved bytes are worth between a
// proxy and its peers. docs/why/015-http2.md has the measurement.
const (
	maxEncodeTable = 4 << 10 // bytes of the encoder's table, if the peer allows it
	maxIndexed     = 256     // bytes of the longest value that is indexed
	maxMisses      = 4       // so many changes of a value in a row end its indexing
	firstSizes     = 8       // length of the first ring of sizes
)

// encodeTable mirrors the peer's dynamic table. RFC 7541, section 2.3.2. It keeps the sizes of all entries, but the values only of
// the last entry of each name. It grows with the entries, because most connections have few and many connections are idle.
type encodeTable struct {
	max      int // bytes; the size that the peer's decoder knows, or will know by the pending updates
	pending  bool
	smallest int // smallest size since the last update, if pending

	size     int
	inserted uint32   // number of entries inserted so far
	count    uint32   // number of entries in the table
	sizes    []uint16 // sizes of the entries, a ring; the newest is at (inserted-1) & (len-1)
	values   []indexedValue
	valueOf  [nameCount]uint8 // index in values, from 1, of the name's value; 0 if there is none
}

// indexedValue is the last value of a name.
type indexedValue struct {
	value  []byte
	number uint32 // number of its insertion, from 1
	misses uint8  // changes of the value in a row
}

// setPeerLimit applies SETTINGS_HEADER_TABLE_SIZE. The next block begins with a size update. RFC 7541, section 4.2.
func (t *encodeTable) setPeerLimit(limit uint32) {
	size := int(min(limit, maxEncodeTable))
	if size == t.max {
		return
	}
	if !t.pending {
		t.smallest = t.max
	}
	t.pending, t.max, t.smallest = true, size, min(t.smallest, size)
	t.evict(t.smallest)
}

// appendResize appends the pending size updates.
func (t *encodeTable) appendResize(p []byte) []byte {
	if !t.pending {
		return p
	}
	t.pending = false
	if t.smallest < t.max {
		t.evict(0) // golang.org/x/net/http2/hpack refuses a second update unless the table is empty
		p = appendInteger(p, 0x20, 5, 0)
	}
	return appendInteger(p, 0x20, 5, t.max)
}

// insertResize inserts the pending size updates into a block that was encoded before.
func (t *encodeTable) insertResize(block []byte) []byte {
	var room [16]byte
	return slices.Insert(block, frameHeaderSize, t.appendResize(room[:0])...)
}

func (t *encodeTable) evict(size int) {
	for t.size > size {
		t.size -= int(*t.sizeOf(t.count))
		t.count--
	}
}

// sizeOf returns the size of the entry with the index, which counts from 1, the newest entry.
func (t *encodeTable) sizeOf(index uint32) *uint16 {
	return &t.sizes[(t.inserted-index)&uint32(len(t.sizes)-1)]
}

// find returns the index of the field, or 0. index reports whether a literal should be indexed.
func (t *encodeTable) find(id nameID, value []byte) (at int, index bool) {
	if at := t.valueOf[id]; at != 0 {
		v := &t.values[at-1]
		if t.inserted-v.number < t.count && bytes.Equal(v.value, value) {
			v.misses = 0
			return staticCount + 1 + int(t.inserted-v.number), false
		}
		if v.misses >= maxMisses {
			v.misses++ // becomes 0 in the end, so a value that has become constant is indexed again
			return 0, false
		}
	}
	return 0, len(value) <= maxIndexed && len(value)+len(names[id].text)+entryOverhead <= t.max
}

// insert adds a field that is sent as a literal with indexing.
func (t *encodeTable) insert(id nameID, value []byte) {
	need := len(names[id].text) + len(value) + entryOverhead
	t.evict(max(t.max-need, 0))
	if need > t.max {
		return
	}
	if int(t.count) == len(t.sizes) {
		t.growSizes()
	}
	t.inserted++
	t.count++
	t.size += need
	*t.sizeOf(1) = uint16(need)
	if t.valueOf[id] == 0 {
		t.values = append(t.values, indexedValue{})
		t.valueOf[id] = uint8(len(t.values))
	}
	v := &t.values[t.valueOf[id]-1]
	v.value = append(v.value[:0], value...)
	v.number = t.inserted
	v.misses++
}

func (t *encodeTable) growSizes() {
	old := *t
	t.sizes = make([]uint16, max(2*len(old.sizes), firstSizes))
	for i := uint32(1); i <= t.count; i++ {
		*t.sizeOf(i) = *old.sizeOf(i)
	}
}

// appendInteger appends an integer with a prefix of so many bits. first has the bits above the prefix. RFC 7541, section 5.1.
func appendInteger(p []byte, first byte, prefix uint, n int) []byte {
	most := 1<<prefix - 1
	if n < most {
		return append(p, first|byte(n))
	}
	p = append(p, first|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		p = append(p, byte(n)|0x80)
	}
	return append(p, byte(n))
}

// appendString appends a string without Huffman code. RFC 7541, section 5.2.
func appendString[T string | []byte](p []byte, s T) []byte {
	if len(s) < 0x7f {
		return append(append(p, byte(len(s))), s...)
	}
	return append(appendInteger(p, 0, 7, len(s)), s...)
}

// appendLower appends a name in lower case.
func appendLower[T string | []byte](p []byte, name T) []byte {
	p = appendString(p, name)
	written := p[len(p)-len(name):]
	for i, c := range written {
		if c-'A' < 26 {
			written[i] = c | 0x20
		}
	}
	return p
}
