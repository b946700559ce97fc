package main

import "encoding/binary"

// The limit scans of the binary formats support only these messages: a flat map of short keys and scalar values. A scan checks
// the bounds of each read, and compares the key before it reads the value.

// protobufScan supports tags of at most two bytes and lengths of one byte.
//
//go:noinline
func protobufScan(data []byte, key int) (off, end int, ok bool) {
	for at := 0; at+1 < len(data); {
		tag := int(data[at])
		at++
		if tag >= 0x80 {
			tag = tag&0x7f | int(data[at])<<7
			at++
		}
		off := at
		switch tag & 7 {
		case 0:
			for at < len(data) && data[at] >= 0x80 {
				at++
			}
			at++
		case 1:
			at += 8
		case 2:
			if at >= len(data) {
				return 0, 0, false
			}
			off = at + 1
			at = off + int(data[at])
		case 5:
			at += 4
		default:
			return 0, 0, false
		}
		if at > len(data) {
			return 0, 0, false
		}
		if tag>>3 == key {
			return off, at, true
		}
	}
	return 0, 0, false
}

// sizesCBOR are the sizes of items by their first byte: integers and floats, and text of less than 24 bytes.
var sizesCBOR = func() (sizes [256]uint8) {
	for b := range sizes {
		major, info := b>>5, b&31
		switch {
		case (major < 2 || major == 7) && info < 28:
			sizes[b] = [28]uint8{24: 2, 25: 3, 26: 5, 27: 9}[info]
			if info < 24 {
				sizes[b] = 1
			}
		case major == 3 && info < 24:
			sizes[b] = uint8(1 + info)
		}
	}
	return sizes
}()

//go:noinline
func cborScan(data []byte, key string) (off, end int, ok bool) {
	at, left := headCBOR(data)
	for ; left > 0 && at < len(data); left-- {
		name := at + 1
		value := at + int(sizesCBOR[data[at]])
		if data[at]>>5 != 3 || value >= len(data) {
			return 0, 0, false
		}
		size := int(sizesCBOR[data[value]])
		at = value + size
		if size == 0 || at > len(data) {
			return 0, 0, false
		}
		if string(data[name:value]) == key {
			if data[value]>>5 == 3 {
				value++
			}
			return value, at, true
		}
	}
	return 0, 0, false
}

//go:noinline
func intCBORScan(data []byte, key int) (off, end int, ok bool) {
	at, left := headCBOR(data)
	for ; left > 0 && at+1 < len(data); left-- {
		have := int(data[at])
		at++
		if have == 24 {
			have = int(data[at])
			at++
		} else if have > 24 {
			return 0, 0, false
		}
		if at >= len(data) {
			return 0, 0, false
		}
		value := at
		size := int(sizesCBOR[data[at]])
		at += size
		if size == 0 || at > len(data) {
			return 0, 0, false
		}
		if have == key {
			if data[value]>>5 == 3 {
				value++
			}
			return value, at, true
		}
	}
	return 0, 0, false
}

// headCBOR reads the head of a map of less than 256 pairs.
func headCBOR(data []byte) (at, pairs int) {
	switch {
	case len(data) > 1 && data[0] == 0xb8:
		return 2, int(data[1])
	case len(data) > 0 && data[0] >= 0xa0 && data[0] < 0xb8:
		return 1, int(data[0] & 31)
	}
	return 0, 0
}

// sizesMsgpack are the sizes of integers, floats and short text by their first byte.
var sizesMsgpack = func() (sizes [256]uint8) {
	for b := range sizes {
		switch {
		case b < 0x80 || b >= 0xe0:
			sizes[b] = 1
		case b >= 0xa0 && b < 0xc0:
			sizes[b] = uint8(1 + b&31)
		}
	}
	for b, size := range map[int]uint8{0xca: 5, 0xcb: 9, 0xcc: 2, 0xcd: 3, 0xce: 5, 0xcf: 9, 0xd0: 2, 0xd1: 3, 0xd2: 5, 0xd3: 9} {
		sizes[b] = size
	}
	return sizes
}()

//go:noinline
func msgpackScan(data []byte, key string) (off, end int, ok bool) {
	at, left := 0, 0
	switch {
	case len(data) > 2 && data[0] == 0xde:
		at, left = 3, int(binary.BigEndian.Uint16(data[1:]))
	case len(data) > 0 && data[0]&0xf0 == 0x80:
		at, left = 1, int(data[0]&15)
	}
	for ; left > 0 && at < len(data); left-- {
		name := at + 1
		value := at + int(sizesMsgpack[data[at]])
		if data[at]&0xe0 != 0xa0 || value >= len(data) {
			return 0, 0, false
		}
		size := int(sizesMsgpack[data[value]])
		at = value + size
		if size == 0 || at > len(data) {
			return 0, 0, false
		}
		if string(data[name:value]) == key {
			if data[value]&0xe0 == 0xa0 {
				value++
			}
			return value, at, true
		}
	}
	return 0, 0, false
}

// bsonScan looks for the end of each key byte by byte: these keys have three bytes at most.
//
//go:noinline
func bsonScan(data []byte, key string) (off, end int, ok bool) {
	if len(data) < 5 || int(binary.LittleEndian.Uint32(data)) != len(data) {
		return 0, 0, false
	}
	for at := 4; at < len(data)-1; {
		kind := data[at]
		name := at + 1
		value := name
		for value < len(data) && data[value] != 0 {
			value++
		}
		found := string(data[name:min(value, len(data))]) == key
		value++
		switch kind {
		case 0x01, 0x12:
			at = value + 8
		case 0x10:
			at = value + 4
		case 0x02:
			if value+4 >= len(data) {
				return 0, 0, false
			}
			size := int(binary.LittleEndian.Uint32(data[value:]))
			value += 4
			at = value + size
		default:
			return 0, 0, false
		}
		if at < value || at >= len(data) {
			return 0, 0, false
		}
		if found {
			if kind == 0x02 {
				return value, at - 1, true
			}
			return value, at, true
		}
	}
	return 0, 0, false
}
