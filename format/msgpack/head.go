package msgpack

import (
	"encoding/binary"
	"fmt"
	"io"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// First bytes of items. MessagePack specification, section "Formats", overview. A family with several widths is listed
// with its first byte. The bytes of the other widths follow directly.
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

// headFamily describes all items with the same first byte.
type headFamily struct {
	kind  field.Kind // Missing for 0xc1, which the specification never uses
	head  uint8      // bytes before the content: first byte, length field, extension type; 0 if the first byte is content, as in an integer
	width uint8      // size of the length field in bytes; 0 without a length field
}

var headFamilies = func() (t [256]headFamily) {
	put := func(first, n int, kind field.Kind, head uint8) {
		for b := first; b < first+n; b++ {
			t[b] = headFamily{kind, head, 0}
		}
	}
	put(0x00, 128, field.Int, 0)
	put(byteFixMap, 16, field.Map, 1)
	put(byteFixArray, 16, field.List, 1)
	put(byteFixStr, 32, field.Text, 1)
	put(byteNil, 1, field.Null, 0)
	put(byteFalse, 2, field.Bool, 0)
	put(byteFloat32, 2, field.Float, 0)
	put(byteUint8, 4, field.Int, 0)
	put(byteInt8, 4, field.Int, 0)
	put(byteFixExt1, 5, field.Extension, 2)
	put(byteNegative, 32, field.Int, 0)
	for i := range 3 {
		width := uint8(1) << i
		t[byteBin8+i] = headFamily{field.Bytes, 1 + width, width}
		t[byteExt8+i] = headFamily{field.Extension, 2 + width, width}
		t[byteStr8+i] = headFamily{field.Text, 1 + width, width}
	}
	for i := range 2 {
		width := uint8(2) << i
		t[byteArray16+i] = headFamily{field.List, 1 + width, width}
		t[byteMap16+i] = headFamily{field.Map, 1 + width, width}
	}
	return t
}()

// itemLengths maps a first byte to the length of its item in bytes, head included. The length is 0 if more bytes are
// needed to know it.
var itemLengths = func() (t [256]uint8) {
	for b := range t {
		if kind := headFamilies[b].kind; kind == field.Int || kind == field.Null || kind == field.Bool {
			t[b] = 1
		}
	}
	for i := range 32 {
		t[byteFixStr+i] = uint8(1 + i)
	}
	for i := range 5 {
		t[byteFixExt1+i] = 2 + 1<<i
	}
	for i := range 4 {
		t[byteUint8+i] = 1 + 1<<i
		t[byteInt8+i] = 1 + 1<<i
	}
	t[byteFloat32], t[byteFloat64] = 5, 9
	t[byteFixMap], t[byteFixArray] = 1, 1
	return t
}()

// shortItemLength returns the length in bytes of the item at pos, which must be inside data. It reads the first byte,
// and for a str 8 also the length byte. If these do not determine the length, it returns 0.
func shortItemLength(data []byte, pos int) int {
	if b := data[pos]; b != byteStr8 || pos+1 >= len(data) {
		return int(itemLengths[b])
	}
	return 2 + int(data[pos+1])
}

// ReadHead returns the kind of the item at pos, the offset of its content, and the size of that in bytes; for a List the number of items, and for a
// Map of pairs. The content of a scalar without a length begins at pos. It may still be missing from data.
func ReadHead(data []byte, pos int) (kind field.Kind, off int, n uint64, err error) {
	h, err := readHead(data, pos)
	return h.kind, h.off, h.n, err
}

// head is the decoded start of an item: its kind and size.
type head struct {
	kind field.Kind
	off  int    // offset of the content; that of the item if its first byte is content
	n    uint64 // size of the content in bytes; the number of items for a List, of pairs for a Map
}

// readHead reads the head of the item at pos. The content may still be missing from data.
func readHead(data []byte, pos int) (head, error) {
	if uint(pos) >= uint(len(data)) {
		return head{}, io.ErrUnexpectedEOF
	}
	b := data[pos]
	f := headFamilies[b]
	h := head{kind: f.kind, off: pos + int(f.head)}
	if h.off > len(data) {
		return head{}, io.ErrUnexpectedEOF
	}
	switch {
	case f.width > 0:
		h.n = bigEndian(data[pos+1:], f.width)
	case f.kind == field.List || f.kind == field.Map:
		h.n = uint64(b & 15)
	case f.kind == field.Missing:
		return head{}, syntaxError(pos, fmt.Sprintf("first byte 0x%02x is never used", b))
	default:
		h.n = uint64(itemLengths[b] - f.head)
	}
	return h, nil
}

// items returns how many items a container holds directly. A pair of a map counts as two.
func (h head) items() uint64 {
	switch h.kind {
	case field.List:
		return h.n
	case field.Map:
		return 2 * h.n
	}
	return 0
}

// bigEndian reads an integer of width bytes from the start of b. width is 1, 2, 4 or 8.
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

// skipItems returns the offset after n items, which start at pos, with their content. It reads heads only. A container
// adds its items to n, so nesting needs no stack.
func skipItems(data []byte, pos, n int) (int, error) {
	for ; n > 0; n-- {
		if uint(pos) >= uint(len(data)) {
			return 0, io.ErrUnexpectedEOF
		}
		if size := shortItemLength(data, pos); size != 0 {
			pos += size
			continue
		}
		h, err := readHead(data, pos)
		if err != nil {
			return 0, err
		}
		// Each item has at least one byte. This check refuses a count that the data cannot hold.
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

func syntaxError(offset int, reason string) error {
	return &format.SyntaxError{Format: "msgpack", Offset: offset, Reason: reason}
}
