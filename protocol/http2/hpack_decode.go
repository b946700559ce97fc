package http2

// decoder decodes field blocks. RFC 7541. There is one for each connection, because all blocks of a connection share a table.
type decoder struct {
	table dynamicTable
	// mustResize is set when the peer has acknowledged a smaller table: its next block begins with a size update. RFC 9113,
	// section 4.3.1.
	mustResize bool
}

// setLimit sets the largest table size, after the peer has acknowledged it.
func (d *decoder) setLimit(limit int) {
	d.mustResize = limit < d.table.max
	d.table.limit = limit
}

// decode decodes a whole field block and passes each field to h. Views in h are valid as long as p, and until the next call.
// It returns the reason if the block cannot be decoded: the connection must end with COMPRESSION_ERROR. If the fields exceed the
// bounds of h or are malformed, the whole block is decoded nevertheless, because the table must follow the peer's. Only a header
// bomb is not: then the connection must end.
func (d *decoder) decode(p []byte, h *Head) (reason string) {
	t := &d.table
	t.moved = false
	fieldSeen := false
	for len(p) > 0 && !h.judge.bomb {
		b := p[0]
		if b >= 0x80 { // RFC 7541, section 6.1: indexed field
			index := int(b & 0x7f)
			if index == 0x7f {
				if index, p = readInteger(p, 7); p == nil {
					return "an index that ends early or is too large"
				}
			} else {
				p = p[1:]
			}
			fieldSeen = true
			switch {
			case uint(index-1) < staticCount:
				e := &staticFields[index]
				h.add(e.name, e.value, e.id, e.judged)
			case uint(index-staticCount-1) < uint(t.count):
				e := t.at(index - staticCount)
				h.add(t.name(e), t.value(e), e.id, e.judged)
			default:
				return "an index beyond the table"
			}
			continue
		}
		if b&0xe0 == 0x20 { // RFC 7541, section 6.3: size update
			var size int
			if size, p = readInteger(p, 5); p == nil || size > t.limit {
				return "a table size beyond SETTINGS_HEADER_TABLE_SIZE"
			}
			if fieldSeen {
				return "a table size update after a field"
			}
			d.mustResize = false
			t.resize(size)
			continue
		}
		if p, reason = d.literal(p, h); reason != "" {
			return reason
		}
		fieldSeen = true
	}
	if d.mustResize {
		return "no table size update after SETTINGS_HEADER_TABLE_SIZE was reduced"
	}
	return ""
}

// literal decodes one literal field and returns the bytes that follow it. RFC 7541, section 6.2.
func (d *decoder) literal(p []byte, h *Head) (rest []byte, reason string) {
	t := &d.table
	b := p[0]
	indexed, prefix := b&0x40 != 0, uint(4)
	if indexed {
		prefix = 6
	}
	var index int
	if index, p = readInteger(p, prefix); p == nil {
		return nil, "an index that ends early or is too large"
	}
	var name, value []byte
	var id nameID
	judged := valid
	switch {
	case index == 0:
		if name, p = readString(p, h); p == nil {
			return nil, "a name that ends early or is wrongly coded"
		}
		id = nameIDOf(name)
		if id == nameOther || !isLower(name) {
			judged = judgeName(name)
		}
	case index <= staticCount:
		e := &staticFields[index]
		name, id = e.name, e.id
	case index-staticCount <= t.count:
		e := t.at(index - staticCount)
		name, id, judged = t.name(e), e.id, e.judged&badName
	default:
		return nil, "an index beyond the table"
	}
	if value, p = readString(p, h); p == nil {
		return nil, "a value that ends early or is wrongly coded"
	}
	judged |= judgeValue(value)
	if id == namePath || id == nameAuthority {
		judged |= judgeTarget(id, value)
	}
	if indexed {
		t.insert(name, value, id, judged)
	} else if b&0x10 != 0 {
		judged |= neverIndexed
	}
	h.add(name, value, id, judged)
	return p, ""
}

// readInteger decodes an integer with a prefix of so many bits. It returns nil for the rest if p ends early or the integer is
// 1<<28 or larger. RFC 7541, section 5.1.
func readInteger(p []byte, prefix uint) (n int, rest []byte) {
	most := 1<<prefix - 1
	n = int(p[0]) & most
	p = p[1:]
	if n < most {
		return n, p
	}
	for shift := uint(0); shift < 28 && len(p) > 0; shift += 7 {
		b := p[0]
		p = p[1:]
		n += int(b&0x7f) << shift
		if b < 0x80 {
			return n, p
		}
	}
	return 0, nil
}

// readString decodes a string. A plain string is a view of p. A string in Huffman code is decoded into the arena of h. RFC 7541,
// section 5.2. The rest is nil if the string is malformed.
func readString(p []byte, h *Head) (s, rest []byte) {
	if len(p) == 0 {
		return nil, nil
	}
	coded := p[0] >= 0x80
	n := int(p[0] & 0x7f)
	if n == 0x7f {
		if n, p = readInteger(p, 7); p == nil {
			return nil, nil
		}
	} else {
		p = p[1:]
	}
	if n > len(p) {
		return nil, nil
	}
	s, rest = p[:n:n], p[n:]
	if !coded {
		return s, rest
	}
	start := len(h.arena)
	arena, ok := appendHuffman(h.arena, s)
	if !ok {
		return nil, nil
	}
	h.arena = arena
	return arena[start:len(arena):len(arena)], rest
}

// staticFields is the static table as bytes.
var staticFields = func() (t [staticCount + 1]struct {
	name, value []byte
	id          nameID
	judged      judgement
},
) {
	for i := 1; i <= staticCount; i++ {
		e := staticEntries[i]
		t[i].name, t[i].value, t[i].id = []byte(names[e.id].text), []byte(e.value), e.id
		t[i].judged = judgeTarget(e.id, t[i].value)
	}
	return t
}()
