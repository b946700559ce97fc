package cbor

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"example.com/ferry/format"
)

// Major types. RFC 8949, section 3.1.
const (
	majorUint   = 0
	majorNint   = 1
	majorBytes  = 2
	majorText   = 3
	majorArray  = 4
	majorMap    = 5
	majorTag    = 6
	majorSimple = 7
)

// Initial bytes that stand for a whole item, or end one. RFC 8949, appendix B.
const (
	byteFalse     = 0xf4
	byteTrue      = 0xf5
	byteNull      = 0xf6
	byteUndefined = 0xf7
	byteSimple    = 0xf8
	byteFloat16   = 0xf9
	byteFloat32   = 0xfa
	byteFloat64   = 0xfb
	byteBreak     = 0xff
)

// indefinite is the additional information of an item whose length is not given. RFC 8949, section 3.2.
const indefinite = 31

// maxNesting bounds what is followed by recursion, whatever Options.MaxDepth says: containers in containers for Validate
// and Walk, for Lookup and Find only those of indefinite length.
const maxNesting = 256

// whole is the length of an item that its initial byte tells, head included; 0 where more has to be read. Two thirds of
// all items are passed by one look into it.
var whole = func() (t [256]uint8) {
	for b := range 24 {
		t[majorUint<<5|b] = 1
		t[majorNint<<5|b] = 1
		t[majorBytes<<5|b] = uint8(1 + b)
		t[majorText<<5|b] = uint8(1 + b)
		t[majorSimple<<5|b] = 1
	}
	for i, n := range []uint8{2, 3, 5, 9} {
		t[majorUint<<5|24+i] = n
		t[majorNint<<5|24+i] = n
		t[majorSimple<<5|24+i] = n
	}
	t[majorArray<<5], t[majorMap<<5] = 1, 1
	return t
}()

// short is the length of the item at pos, which is inside data, if its initial byte tells, or for a string the next one;
// else 0. Branches come before the table, as a predicted one does not wait for the byte.
func short(data []byte, pos int) int {
	switch b := data[pos]; {
	case b-majorText<<5 < 24:
		return int(b) - majorText<<5 + 1
	case b&0xdf < 24: // a small integer
		return 1
	case b&0xdf == 24:
		return 2
	case b&0xdf == 27:
		return 9
	case b|0x20 == majorText<<5|24 && pos+1 < len(data):
		return 2 + int(data[pos+1])
	default:
		return int(whole[b])
	}
}

// shortInteger returns the integer from 0 to 255 at pos, which is inside data, and its size in bytes; 0 if something else
// stands there.
func shortInteger(data []byte, pos int) (n, size int) {
	switch b := data[pos]; {
	case b < 24:
		return int(b), 1
	case b == 24 && pos+1 < len(data):
		return int(data[pos+1]), 2
	}
	return 0, 0
}

// head is the start of one item.
type head struct {
	major byte
	info  byte   // additional information, 0..27 or indefinite
	arg   uint64 // the number that follows, or is, info
	next  int    // offset behind the head
}

func readHead(data []byte, pos int) (head, error) {
	if uint(pos) >= uint(len(data)) {
		return head{}, io.ErrUnexpectedEOF
	}
	b := data[pos]
	if info := b & 31; info < 24 {
		return head{major: b >> 5, info: info, arg: uint64(info), next: pos + 1}, nil
	}
	return readLongHead(data, pos)
}

func readLongHead(data []byte, pos int) (head, error) {
	b := data[pos]
	h := head{major: b >> 5, info: b & 31, next: pos + 1}
	switch {
	case h.info <= 27:
		n := 1 << (h.info - 24)
		if len(data)-h.next < n {
			return head{}, io.ErrUnexpectedEOF
		}
		h.arg = bigEndian(data[h.next:], n)
		h.next += n
		return h, nil
	case h.info == indefinite && h.major >= majorBytes && h.major <= majorMap:
		return h, nil
	case b == byteBreak:
		return head{}, syntax(pos, "a break (0xff) where an item should start")
	}
	return head{}, syntax(pos, fmt.Sprintf("initial byte 0x%02x is reserved", b))
}

// bigEndian reads n = 1, 2, 4 or 8 bytes.
func bigEndian(b []byte, n int) uint64 {
	switch n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	}
	return binary.BigEndian.Uint64(b)
}

// headSize is the length of the shortest head. RFC 8949, section 4.2.1.
func headSize(arg uint64) int {
	switch {
	case arg < 24:
		return 1
	case arg <= math.MaxUint8:
		return 2
	case arg <= math.MaxUint16:
		return 3
	case arg <= math.MaxUint32:
		return 5
	}
	return 9
}

// appendHead writes the shortest head.
func appendHead(dst []byte, major byte, arg uint64) []byte {
	b := major << 5
	switch headSize(arg) {
	case 1:
		return append(dst, b|byte(arg))
	case 2:
		return append(dst, b|24, byte(arg))
	case 3:
		return binary.BigEndian.AppendUint16(append(dst, b|25), uint16(arg))
	case 5:
		return binary.BigEndian.AppendUint32(append(dst, b|26), uint32(arg))
	}
	return binary.BigEndian.AppendUint64(append(dst, b|27), arg)
}

// shortHead is the head of the item at pos, which is inside data, if it takes one byte, or two that are there; false if
// not, or for a tag.
func shortHead(data []byte, pos int) (h head, ok bool) {
	b := data[pos]
	h = head{major: b >> 5, info: b & 31, arg: uint64(b & 31), next: pos + 1}
	if h.info == 24 && h.next < len(data) {
		h.arg = uint64(data[h.next])
		h.next++
		return h, h.major != majorTag
	}
	return h, h.info < 24 && h.major != majorTag
}

// pastTags returns the head of the item at pos and its offset, behind all of its tags. RFC 8949, section 3.4.
func pastTags(data []byte, pos int) (head, int, error) {
	for {
		h, err := readHead(data, pos)
		if err != nil || h.major != majorTag {
			return h, pos, err
		}
		pos = h.next
	}
}

func syntax(offset int, reason string) error {
	return &format.SyntaxError{Format: "cbor", Offset: offset, Reason: reason}
}
