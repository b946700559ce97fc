package msgpack

import (
	"encoding/binary"
	"fmt"
	"io"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// First bytes. MessagePack specification, section "Formats", overview. Of a family with several widths it is the first;
// the others follow it.
const (
	byteFixMap   = 0x80
	byteFixArray = 0x90
	byteFixStr   = 0xa0
	byteNil      = 0xc0
	byteUnused   = 0xc1
	byteFalse    = 0xc2
	byteTrue     = 0xc3
	byteBin8     = 0xc4
	byteExt8     = 0xc7
	byteFloat32  = 0xca
	byteFloat64  = 0xcb
	byteUint8    = 0xcc
	byteInt8     = 0xd0
	byteFixExt1  = 0xd4
	byteStr8     = 0xd9
	byteArray16  = 0xdc
	byteMap16    = 0xde
	byteNegative = 0xe0
)

// family is what a first byte tells.
type family struct {
	kind  field.Kind // Missing for the byte that is never used
	whole uint8      // bytes of the item, if the first byte tells, head included; else 0
	width uint8      // bytes of the length that follows, if one does
}

var families = func() (t [256]family) {
	put := func(first, last int, kind field.Kind, whole uint8) {
		for b := first; b <= last; b++ {
			t[b] = family{kind, whole, 0}
		}
	}
	put(0x00, byteFixMap-1, field.Int, 1)
	put(byteFixMap, byteFixMap|15, field.Map, 0)
	put(byteFixArray, byteFixArray|15, field.List, 0)
	t[byteFixMap].whole, t[byteFixArray].whole = 1, 1
	put(byteFixStr, byteFixStr|31, field.Text, 0)
	put(byteNil, byteNil, field.Null, 1)
	put(byteFalse, byteTrue, field.Bool, 1)
	put(byteFloat32, byteFloat32, field.Float, 5)
	put(byteFloat64, byteFloat64, field.Float, 9)
	put(byteNegative, 0xff, field.Int, 1)
	for i := range 32 {
		t[byteFixStr+i].whole = uint8(1 + i)
	}
	for i := range 5 {
		t[byteFixExt1+i] = family{field.Extension, 2 + 1<<i, 0}
	}
	for i := range 4 {
		t[byteUint8+i] = family{field.Int, 1 + 1<<i, 0}
		t[byteInt8+i] = family{field.Int, 1 + 1<<i, 0}
	}
	for i := range 3 {
		t[byteBin8+i] = family{field.Bytes, 0, 1 << i}
		t[byteExt8+i] = family{field.Extension, 0, 1 << i}
		t[byteStr8+i] = family{field.Text, 0, 1 << i}
	}
	for i := range 2 {
		t[byteArray16+i] = family{field.List, 0, 2 << i}
		t[byteMap16+i] = family{field.Map, 0, 2 << i}
	}
	return t
}()

// head is the start of one item.
type head struct {
	kind field.Kind
	off  int    // where the content starts: behind the length, and an extension's type; a scalar without one is all content
	n    uint64 // bytes of content; of a List items, of a Map pairs
}

// readHead reads the head of the item at pos. It does not look whether the content is there.
func readHead(data []byte, pos int) (head, error) {
	if uint(pos) >= uint(len(data)) {
		return head{}, io.ErrUnexpectedEOF
	}
	b := data[pos]
	f := families[b]
	h := head{kind: f.kind, off: pos}
	switch {
	case f.width > 0:
		h.off += 1 + int(f.width)
		if h.off > len(data) {
			return head{}, io.ErrUnexpectedEOF
		}
		h.n = bigEndian(data[pos+1:], f.width)
	case f.kind == field.Text:
		h.off, h.n = pos+1, uint64(b&31)
		return h, nil
	case f.kind == field.List || f.kind == field.Map:
		h.off, h.n = pos+1, uint64(b&15)
		return h, nil
	case f.kind == field.Extension:
		h.off, h.n = pos+1, uint64(f.whole-2)
	case f.kind == field.Missing:
		return head{}, syntax(pos, fmt.Sprintf("first byte 0x%02x is never used", b))
	default:
		h.n = uint64(f.whole)
	}
	if f.kind == field.Extension {
		if h.off++; h.off > len(data) {
			return head{}, io.ErrUnexpectedEOF
		}
	}
	return h, nil
}

// items is how many items a container holds directly, keys included.
func (h head) items() uint64 {
	switch h.kind {
	case field.List:
		return h.n
	case field.Map:
		return 2 * h.n
	}
	return 0
}

// bigEndian reads the first 1, 2, 4 or 8 bytes of b.
func bigEndian(b []byte, width uint8) uint64 {
	switch width {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	}
	return binary.BigEndian.Uint64(b)
}

// skip returns the offset behind n items that start at pos, with all they hold. It looks at heads only. Containers add
// their items to n, so nesting costs nothing.
func skip(data []byte, pos, n int) (int, error) {
	for ; n > 0; n-- {
		if uint(pos) >= uint(len(data)) {
			return 0, io.ErrUnexpectedEOF
		}
		if size := families[data[pos]].whole; size != 0 {
			pos += int(size)
			continue
		}
		h, err := readHead(data, pos)
		if err != nil {
			return 0, err
		}
		// Each item takes a byte at least: a count that the rest of data cannot hold ends here, not by counting.
		left := uint64(len(data) - h.off)
		if h.n > left || h.items()+uint64(n-1) > left {
			return 0, io.ErrUnexpectedEOF
		}
		if pos = h.off; h.kind == field.List || h.kind == field.Map {
			n += int(h.items())
		} else {
			pos += int(h.n)
		}
	}
	if pos > len(data) {
		return 0, io.ErrUnexpectedEOF
	}
	return pos, nil
}

func syntax(offset int, reason string) error {
	return &format.SyntaxError{Format: "msgpack", Offset: offset, Reason: reason}
}
