package http2

const (
	entryOverhead  = 32  // bytes that an entry counts beside its name and value. RFC 7541, section 4.1
	firstEntries   = 16  // capacity of a new table
	firstTableSize = 512 // bytes of the first arena
)

// dynamicTable is the decoder's dynamic table. RFC 7541, section 2.3.2. Its entries are a ring. Their bytes lie in an arena that
// is only appended to. When the arena is full, the entries move to the other of two arenas. So a view of an entry stays valid
// until the end of its field block, even if the entry is evicted within the block. A table takes at most four times its size, and
// what the inserted fields of one block take.
type dynamicTable struct {
	ring     []tableEntry // its length is a power of two
	inserted uint32       // number of entries inserted so far; the newest is at ring[(inserted-1) & mask]
	count    int
	size     int // RFC 7541, section 4.1
	max      int // size that the peer has chosen
	limit    int // largest size that the peer may choose
	arena    []byte
	spare    []byte // an arena without views
	moved    bool   // the entries have moved in this field block, so views of the other arena may exist
}

// tableEntry is one entry. Its name and value follow each other in the arena.
type tableEntry struct {
	offset   uint32
	nameLen  uint32
	valueLen uint32
	id       nameID
	judged   judgement
}

// at returns the entry with the index, which counts from 1, the newest entry. The caller has checked that it exists.
func (t *dynamicTable) at(index int) *tableEntry {
	return &t.ring[(t.inserted-uint32(index))&uint32(len(t.ring)-1)]
}

func (t *dynamicTable) name(e *tableEntry) []byte {
	end := e.offset + e.nameLen
	return t.arena[e.offset:end:end]
}

func (t *dynamicTable) value(e *tableEntry) []byte {
	start := e.offset + e.nameLen
	end := start + e.valueLen
	return t.arena[start:end:end]
}

// insert adds an entry and evicts old ones. name and value may be views of evicted entries. RFC 7541, section 4.4.
func (t *dynamicTable) insert(name, value []byte, id nameID, judged judgement) {
	need := len(name) + len(value)
	if need+entryOverhead > t.max {
		t.evict(0)
		return
	}
	t.evict(t.max - need - entryOverhead)
	if cap(t.arena)-len(t.arena) < need {
		t.move(need)
	}
	if t.count == len(t.ring) {
		t.growRing()
	}
	t.ring[t.inserted&uint32(len(t.ring)-1)] = tableEntry{uint32(len(t.arena)), uint32(len(name)), uint32(len(value)), id, judged}
	t.arena = append(append(t.arena, name...), value...)
	t.inserted++
	t.count++
	t.size += need + entryOverhead
}

// evict removes the oldest entries until the table is at most size bytes.
func (t *dynamicTable) evict(size int) {
	for t.size > size {
		e := t.at(t.count)
		t.size -= int(e.nameLen) + int(e.valueLen) + entryOverhead
		t.count--
	}
}

// resize sets the size that the peer has chosen.
func (t *dynamicTable) resize(size int) {
	t.max = size
	t.evict(size)
}

// move copies the entries to an arena that has room for need more bytes.
func (t *dynamicTable) move(need int) {
	live := t.size - t.count*entryOverhead + need
	capacity := max(cap(t.arena), firstTableSize)
	for capacity < 2*live {
		capacity *= 2
	}
	next := t.spare
	if t.moved || cap(next) < capacity {
		next = make([]byte, 0, capacity)
	}
	next = next[:0]
	for i := t.count; i > 0; i-- {
		e := t.at(i)
		start := e.offset
		e.offset = uint32(len(next))
		next = append(next, t.arena[start:start+e.nameLen+e.valueLen]...)
	}
	t.arena, t.spare = next, t.arena
	t.moved = true
}

func (t *dynamicTable) growRing() {
	ring := make([]tableEntry, max(2*len(t.ring), firstEntries))
	for i := 1; i <= t.count; i++ {
		ring[(t.inserted-uint32(i))&uint32(len(ring)-1)] = *t.at(i)
	}
	t.ring = ring
}
