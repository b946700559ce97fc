package cbor

import (
	"example.com/ferry/format"
	"example.com/ferry/internal/cborhead"
)

// maxNesting bounds what is followed by recursion, whatever Options.MaxDepth says: containers in containers for Validate
// and Walk, for Lookup and Find only those of indefinite length.
const maxNesting = 256

// itemLengths is the length of an item that its initial byte tells, head included; 0 where more has to be read. Two thirds of
// all items are passed by one look into it.
var itemLengths = func() (t [256]uint8) {
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

// shortItemLength is the length of the item at pos, which is inside data, if its initial byte tells, or for a string the next one;
// else 0. Branches come before the table, as a predicted one does not wait for the byte.
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
		return int(itemLengths[b])
	}
}

// readShortInteger returns the integer from 0 to 255 at pos, which is inside data, and its size in bytes; 0 if something else
// stands there.
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

// readShortHead is the head of the item at pos, which is inside data, if it takes one byte, or two that are there; false if
// not, or for a tag.
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

// skipTags returns the head of the item at pos and its offset, behind all of its tags. RFC 8949, section 3.4.
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
