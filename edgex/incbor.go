package edgex

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"example.com/ferry/field"
)

// Major types, and single bytes, of RFC 8949, sections 3.1 and 3.3.
const (
	cborUint  = 0
	cborNint  = 1
	cborBytes = 2
	cborText  = 3
	cborList  = 4
	cborMap   = 5
	cborTag   = 6

	cborNull  = 0xf6
	cborBreak = 0xff

	indefinite = 31 // additional information: a break ends the item
)

// maxOpen bounds containers of indefinite length within each other, which are passed by recursion.
const maxOpen = 32

// cborDocument is a document in CBOR.
type cborDocument struct{ window }

type cborHead struct {
	major byte
	open  bool // of indefinite length
	arg   uint64
	next  int
}

// head reads the start of the item at pos. A string, and a container, does not claim more than the message has bytes.
func (d *cborDocument) head(pos int) (cborHead, error) {
	if off := uint(pos - d.base); off < uint(len(d.bytes)) && d.bytes[off]&31 < 24 {
		return cborHead{major: d.bytes[off] >> 5, arg: uint64(d.bytes[off] & 31), next: pos + 1}, nil
	}
	return d.longHead(pos)
}

func (d *cborDocument) longHead(pos int) (cborHead, error) {
	b, err := d.at(pos, 1)
	if err != nil {
		return cborHead{}, err
	}
	h := cborHead{major: b[0] >> 5, arg: uint64(b[0] & 31), next: pos + 1}
	switch {
	case h.arg < 24:
	case h.arg < 28:
		n := 1 << (h.arg - 24)
		if b, err = d.at(h.next, n); err != nil {
			return h, err
		}
		h.arg = 0
		for _, c := range b {
			h.arg = h.arg<<8 | uint64(c)
		}
		h.next += n
	case h.arg == indefinite && h.major >= cborBytes && h.major <= cborMap:
		h.open = true
	default:
		return h, syntax("cbor", pos, fmt.Sprintf("byte 0x%02x where an item should start", b[0]))
	}
	if h.major >= cborBytes && h.major <= cborMap && !h.open && h.arg > uint64(d.limit()-h.next) {
		return h, io.ErrUnexpectedEOF
	}
	return h, nil
}

func (d *cborDocument) kind(pos int) (field.Kind, error) {
	h, err := d.head(pos)
	if err != nil {
		return field.Missing, err
	}
	switch h.major {
	case cborUint, cborNint:
		return field.Int, nil
	case cborBytes:
		return field.Bytes, nil
	case cborText:
		return field.Text, nil
	case cborList:
		return field.List, nil
	case cborMap:
		return field.Map, nil
	case cborNull >> 5:
		if h.arg == cborNull&31 {
			return field.Null, nil
		}
	}
	return field.Extension, nil
}

func (d *cborDocument) skip(pos int) (int, error) {
	if off := uint(pos - d.base); off < uint(len(d.bytes)) { // short texts are most of what is passed
		end := pos
		switch b := d.bytes[off]; {
		case b-cborText<<5 < 24:
			end += 1 + int(b-cborText<<5)
		case b == cborText<<5|24 && int(off)+1 < len(d.bytes):
			end += 2 + int(d.bytes[off+1])
		}
		if end > pos && end <= d.base+len(d.bytes) {
			return end, nil
		}
	}
	return d.skipIn(pos, 0)
}

// skipIn is skip for an item that stands in so many containers of indefinite length.
func (d *cborDocument) skipIn(pos, depth int) (int, error) {
	for left := 1; left > 0; left-- {
		h, err := d.head(pos)
		if err != nil {
			return 0, err
		}
		pos = h.next
		switch {
		case h.open:
			if pos, err = d.pastBreak(pos, depth+1); err != nil {
				return 0, err
			}
		case h.major == cborBytes || h.major == cborText:
			pos += int(h.arg)
		case h.major == cborList:
			left += int(h.arg)
		case h.major == cborMap:
			left += 2 * int(h.arg)
		case h.major == cborTag:
			left++
		}
		if left > d.limit() { // each item takes a byte at least
			return 0, io.ErrUnexpectedEOF
		}
	}
	if pos > d.limit() {
		return 0, io.ErrUnexpectedEOF
	}
	return pos, nil
}

func (d *cborDocument) pastBreak(pos, depth int) (int, error) {
	if depth > maxOpen {
		return 0, syntax("cbor", pos, fmt.Sprintf("more than %d containers of indefinite length in each other", maxOpen))
	}
	for {
		b, err := d.at(pos, 1)
		if err != nil {
			return 0, err
		}
		if b[0] == cborBreak {
			return pos + 1, nil
		}
		if pos, err = d.skipIn(pos, depth); err != nil {
			return 0, err
		}
	}
}

func (d *cborDocument) open(it *items, pos int) error {
	h, err := d.head(pos)
	if err != nil {
		return err
	}
	if h.major != cborMap && h.major != cborList {
		return syntax("cbor", pos, "neither a map nor a list where EdgeX has one")
	}
	*it = items{head: pos, body: h.next, end: h.next, left: int(h.arg), list: h.major == cborList}
	if h.open {
		it.left = -1
	}
	return nil
}

func (d *cborDocument) next(it *items) (bool, error) {
	if err := it.pass(d); err != nil {
		return false, err
	}
	pos := it.end
	if it.left < 0 {
		b, err := d.at(pos, 1)
		if err != nil {
			return false, err
		}
		it.done = b[0] == cborBreak
	} else {
		it.done = it.count == it.left
	}
	if it.done {
		return false, nil
	}
	it.start, it.value, it.name = pos, pos, nil
	if it.list {
		return true, nil
	}
	if off := uint(pos - d.base); off < uint(len(d.bytes)) {
		if n := d.bytes[off] - cborText<<5; n < 24 && int(n) < len(d.bytes)-int(off) {
			it.name, it.value = d.bytes[off+1:off+1+uint(n)], pos+1+int(n)
			return true, nil
		}
	}
	h, err := d.head(pos)
	if err != nil {
		return false, err
	}
	if h.major == cborText && !h.open {
		it.value = h.next + int(h.arg)
		it.name, err = d.at(h.next, int(h.arg))
		return err == nil, err
	}
	it.value, err = d.skip(pos) // no key of EdgeX
	return err == nil, err
}

func (d *cborDocument) text(pos int) ([]byte, error) {
	h, err := d.head(pos)
	if err != nil {
		return nil, err
	}
	if h.major != cborText || h.open {
		return nil, syntax("cbor", pos, "no text of definite length where EdgeX has one")
	}
	return d.at(h.next, int(h.arg))
}

func (d *cborDocument) integer(pos int) (int64, error) {
	h, err := d.head(pos)
	if err != nil {
		return 0, err
	}
	if h.major > cborNint || h.arg > math.MaxInt64 {
		return 0, syntax("cbor", pos, "no integer of 64 bits where EdgeX has one")
	}
	if h.major == cborNint {
		return -1 - int64(h.arg), nil
	}
	return int64(h.arg), nil
}

func (d *cborDocument) appendText(dst []byte, text string) []byte {
	return append(appendCBORHead(dst, cborText, len(text)), text...)
}

func (d *cborDocument) appendMap(dst []byte, n int) []byte { return appendCBORHead(dst, cborMap, n) }

func (d *cborDocument) appendEnd(dst []byte) []byte { return dst }

func (d *cborDocument) appendName(dst []byte, name string, _ bool) []byte {
	return append(appendCBORHead(dst, cborText, len(name)), name...)
}

func (d *cborDocument) recount(p *plan, it *items, n int) error {
	if it.left < 0 {
		return nil
	}
	major := byte(cborMap)
	if it.list {
		major = cborList
	}
	p.begin()
	p.scratch = appendCBORHead(p.scratch, major, n)
	return p.end(it.head, it.body)
}

// appendCBORHead writes the shortest head. RFC 8949, section 4.2.1.
func appendCBORHead(dst []byte, major byte, n int) []byte {
	switch major <<= 5; {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), uint64(n))
}
