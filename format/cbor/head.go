package cbor

import (
	"example.com/ferry/format"
	"example.com/ferry/internal/cborhead"
)

// maxNesting bounds recursion, whatever Options.MaxDepth is. Validate and Walk count all nested containers. Lookup and
// Find count only containers of indefinite length.
const maxNesting = 256

// lengthByInitialByte maps the initial byte of an item to the length of the item in bytes, head included. It is 0 if
// the initial byte does not determine the length. With this table two thirds of all items are skipped after one memory
// access.
var lengthByInitialByte = func() (t [256]uint8) {
	for b := range 24 {
		t[cborhead.Uint<<5|b] = 1
		t[cborhead.Nint<<5|b] = 1
		t[cborhead.Bytes<<5|b] = uint8(1 + b)
		t[cborhead.Text<<5|b] = uint8(1 + b)
		t[cborhead.Simple<<5|b] = 1
	}
	for i, n := range []uint8{2, 3, 5, 9} {
		t[cborhead.Uint<<5|24+i] = n
		t[cborhead.Nint<<5|24+i] = n
		t[cborhead.Simple<<5|24+i] = n
	}
	t[cborhead.Array<<5], t[cborhead.Map<<5] = 1, 1
	return t
}()

// shortItemLength returns the length of the item at pos if the first byte determines it, or for a string the first two
// bytes. Otherwise it returns 0. pos must be inside data. The branches precede the table access, because the processor
// can predict a branch before the byte is loaded.
func shortItemLength(data []byte, pos int) int {
	switch b := data[pos]; {
	case b-cborhead.Text<<5 < 24:
		return int(b) - cborhead.Text<<5 + 1
	case b&0xdf < 24: // a small integer
		return 1
	case b&0xdf == 24:
		return 2
	case b&0xdf == 27:
		return 9
	case b|0x20 == cborhead.Text<<5|24 && pos+1 < len(data):
		return 2 + int(data[pos+1])
	default:
		return int(lengthByInitialByte[b])
	}
}

// readShortInteger returns the integer at pos and its size in bytes if the integer is from 0 to 255. For other items
// size is 0. pos must be inside data.
func readShortInteger(data []byte, pos int) (n, size int) {
	switch b := data[pos]; {
	case b < 24:
		return int(b), 1
	case b == 24 && pos+1 < len(data):
		return int(data[pos+1]), 2
	}
	return 0, 0
}

type head = cborhead.Head

// readShortHead returns the head of the item at pos if the head has one or two bytes. ok is false for a longer or
// incomplete head and for a tag. pos must be inside data.
func readShortHead(data []byte, pos int) (h head, ok bool) {
	b := data[pos]
	h = head{Major: b >> 5, Info: b & 31, Arg: uint64(b & 31), Next: pos + 1}
	if h.Info == 24 && h.Next < len(data) {
		h.Arg = uint64(data[h.Next])
		h.Next++
		return h, h.Major != cborhead.Tag
	}
	return h, h.Info < 24 && h.Major != cborhead.Tag
}

// skipTags returns the head of the item at pos and the offset of this head, both without the tags before it. RFC 8949,
// section 3.4.
func skipTags(data []byte, pos int) (head, int, error) {
	for {
		h, err := cborhead.Read(data, pos)
		if err != nil || h.Major != cborhead.Tag {
			return h, pos, err
		}
		pos = h.Next
	}
}

func syntaxError(offset int, reason string) error {
	return &format.SyntaxError{Format: "cbor", Offset: offset, Reason: reason}
}
