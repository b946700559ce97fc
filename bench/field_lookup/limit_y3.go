package main

// limitScan does the minimal work of a checked lookup. It enters the node. For each packet it reads the tag and the length,
// compares the key, and checks that the value lies within data. It supports only this shape of message and returns offsets. It
// is not inlined, because a library's lookup is not inlined either.
//
//go:noinline
func limitScan(data []byte, key byte) (off, end int, ok bool) {
	at, size, ok := header(data, 0)
	if !ok || data[0] != 0x80 {
		return 0, 0, false
	}
	data = data[:at+size]
	for at+1 < len(data) {
		tag := data[at]
		size := int(data[at+1])
		off := at + 2
		if size >= 64 {
			if off, size, ok = header(data, at); !ok {
				return 0, 0, false
			}
		}
		end := off + size
		if end > len(data) {
			return 0, 0, false
		}
		if tag == key {
			return off, end, true
		}
		at = end
	}
	return 0, 0, false
}

// tightScan is limitScan with one comparison for each packet: tags and lengths are read through two slices of equal length,
// and the bounds of a packet are checked when the next one is read.
//
//go:noinline
func tightScan(data []byte, key byte) (off, end int, ok bool) {
	at, size, ok := header(data, 0)
	if !ok || data[0] != 0x80 || size < 2 {
		return 0, 0, false
	}
	node := data[:at+size]
	tags := node[:len(node)-1]
	lengths := node[1:][:len(tags)]
	for uint(at) < uint(len(tags)) {
		if tags[at] == key {
			off, size, ok := header(node, at)
			return off, off + size, ok
		}
		size := int(lengths[at])
		off := at + 2
		if size >= 64 {
			if off, size, ok = header(node, at); !ok {
				return 0, 0, false
			}
		}
		at = off + size
	}
	return 0, 0, false
}

// header reads the packet header at offset at. It returns the offset and the length of the value. The length is encoded as a
// signed number in groups of seven bits, most significant group first.
func header(data []byte, at int) (off, size int, ok bool) {
	at++
	if at >= len(data) || data[at]&0xc0 == 0x40 { // a negative length
		return 0, 0, false
	}
	for n := 0; n < 5 && at < len(data); n++ {
		c := data[at]
		at++
		size = size<<7 | int(c&0x7f)
		if c < 0x80 {
			return at, size, size <= len(data)-at
		}
	}
	return 0, 0, false
}
