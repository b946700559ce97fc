package edgex

import (
	"fmt"
	"io"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/internal/cborhead"
)

// maxOpen bounds the nesting of containers of indefinite length, because skipIn is recursive.
const maxOpen = 32

// cborDocument is a document in CBOR.
type cborDocument struct{ window }

// head reads the head of the item at pos. If the length of a string or container exceeds the message, it returns an error.
func (d *cborDocument) head(pos int) (cborhead.Head, error) {
	if off := uint(pos - d.base); off < uint(len(d.bytes)) && d.bytes[off]&31 < 24 {
		info := d.bytes[off] & 31
		return cborhead.Head{Major: d.bytes[off] >> 5, Info: info, Arg: uint64(info), Next: pos + 1}, nil
	}
	return d.longHead(pos)
}

func (d *cborDocument) longHead(pos int) (cborhead.Head, error) {
	h, err := cborhead.Read(d.bytes, pos-d.base)
	if err != nil {
		return d.moveToHead(pos)
	}
	h.Next += d.base
	isCounted := h.Major >= cborhead.Bytes && h.Major <= cborhead.Map && h.Info != cborhead.Indefinite
	if isCounted && h.Arg > uint64(d.limit()-h.Next) {
		return h, io.ErrUnexpectedEOF
	}
	return h, nil
}

// moveToHead moves the window to an item whose head is malformed or not entirely in the window, and reads the head.
func (d *cborDocument) moveToHead(pos int) (cborhead.Head, error) {
	b, err := d.at(pos, 1)
	if err == nil {
		b, err = d.at(pos, cborhead.Len(b[0]))
	}
	if err != nil {
		return cborhead.Head{}, err
	}
	if _, err := cborhead.Read(b, 0); err != nil {
		return cborhead.Head{}, syntax("cbor", pos, fmt.Sprintf("byte 0x%02x where an item should start", b[0]))
	}
	return d.head(pos) // the window now contains the head
}

func (d *cborDocument) kind(pos int) (field.Kind, error) {
	h, err := d.head(pos)
	if err != nil {
		return field.Missing, err
	}
	switch h.Major {
	case cborhead.Uint, cborhead.Nint:
		return field.Int, nil
	case cborhead.Bytes:
		return field.Bytes, nil
	case cborhead.Text:
		return field.Text, nil
	case cborhead.Array:
		return field.List, nil
	case cborhead.Map:
		return field.Map, nil
	case cborhead.Null >> 5:
		if h.Arg == cborhead.Null&31 {
			return field.Null, nil
		}
	}
	return field.Extension, nil
}

func (d *cborDocument) skip(pos int) (int, error) {
	if off := uint(pos - d.base); off < uint(len(d.bytes)) { // a fast path: most values are short texts
		end := pos
		switch b := d.bytes[off]; {
		case b-cborhead.Text<<5 < 24:
			end += 1 + int(b-cborhead.Text<<5)
		case b == cborhead.Text<<5|24 && int(off)+1 < len(d.bytes):
			end += 2 + int(d.bytes[off+1])
		}
		if end > pos && end <= d.base+len(d.bytes) {
			return end, nil
		}
	}
	return d.skipIn(pos, 0)
}

// skipIn is skip for an item that is nested in depth containers of indefinite length.
func (d *cborDocument) skipIn(pos, depth int) (int, error) {
	for left := 1; left > 0; left-- {
		h, err := d.head(pos)
		if err != nil {
			return 0, err
		}
		pos = h.Next
		switch {
		case h.Info == cborhead.Indefinite:
			if pos, err = d.skipToBreak(pos, depth+1); err != nil {
				return 0, err
			}
		case h.Major == cborhead.Bytes || h.Major == cborhead.Text:
			pos += int(h.Arg)
		case h.Major == cborhead.Array:
			left += int(h.Arg)
		case h.Major == cborhead.Map:
			left += 2 * int(h.Arg)
		case h.Major == cborhead.Tag:
			left++
		}
		if left > d.limit() { // each item is at least one byte long
			return 0, io.ErrUnexpectedEOF
		}
	}
	if pos > d.limit() {
		return 0, io.ErrUnexpectedEOF
	}
	return pos, nil
}

func (d *cborDocument) skipToBreak(pos, depth int) (int, error) {
	if depth > maxOpen {
		return 0, syntax("cbor", pos, fmt.Sprintf("more than %d containers of indefinite length in each other", maxOpen))
	}
	for {
		b, err := d.at(pos, 1)
		if err != nil {
			return 0, err
		}
		if b[0] == cborhead.Break {
			return pos + 1, nil
		}
		if pos, err = d.skipIn(pos, depth); err != nil {
			return 0, err
		}
	}
}

func (d *cborDocument) open(it *iterator, pos int) error {
	h, err := d.head(pos)
	if err != nil {
		return err
	}
	if h.Major != cborhead.Map && h.Major != cborhead.Array {
		return syntax("cbor", pos, "neither a map nor a list where EdgeX has one")
	}
	*it = iterator{head: pos, body: h.Next, end: h.Next, left: int(h.Arg), list: h.Major == cborhead.Array}
	if h.Info == cborhead.Indefinite {
		it.left = -1
	}
	return nil
}

func (d *cborDocument) next(it *iterator) (bool, error) {
	if err := it.skipValue(d); err != nil {
		return false, err
	}
	pos := it.end
	if it.left < 0 {
		b, err := d.at(pos, 1)
		if err != nil {
			return false, err
		}
		it.done = b[0] == cborhead.Break
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
		if n := d.bytes[off] - cborhead.Text<<5; n < 24 && int(n) < len(d.bytes)-int(off) {
			it.name, it.value = d.bytes[off+1:off+1+uint(n)], pos+1+int(n)
			return true, nil
		}
	}
	h, err := d.head(pos)
	if err != nil {
		return false, err
	}
	if h.Major == cborhead.Text && h.Info != cborhead.Indefinite {
		it.value = h.Next + int(h.Arg)
		it.name, err = d.at(h.Next, int(h.Arg))
		return err == nil, err
	}
	it.value, err = d.skip(pos) // EdgeX does not define this key
	return err == nil, err
}

func (d *cborDocument) text(pos int) ([]byte, error) {
	h, err := d.head(pos)
	if err != nil {
		return nil, err
	}
	if h.Major != cborhead.Text || h.Info == cborhead.Indefinite {
		return nil, syntax("cbor", pos, "no text of definite length where EdgeX has one")
	}
	return d.at(h.Next, int(h.Arg))
}

func (d *cborDocument) integer(pos int) (int64, error) {
	h, err := d.head(pos)
	if err != nil {
		return 0, err
	}
	if h.Major > cborhead.Nint || h.Arg > math.MaxInt64 {
		return 0, syntax("cbor", pos, "no integer of 64 bits where EdgeX has one")
	}
	if h.Major == cborhead.Nint {
		return -1 - int64(h.Arg), nil
	}
	return int64(h.Arg), nil
}

func (d *cborDocument) appendText(dst []byte, text string) []byte {
	return append(cborhead.Append(dst, cborhead.Text, uint64(len(text))), text...)
}

func (d *cborDocument) appendMap(dst []byte, n int) []byte {
	return cborhead.Append(dst, cborhead.Map, uint64(n))
}

func (d *cborDocument) appendEnd(dst []byte) []byte { return dst }

func (d *cborDocument) appendName(dst []byte, name string, _ bool) []byte {
	return append(cborhead.Append(dst, cborhead.Text, uint64(len(name))), name...)
}

func (d *cborDocument) updateCount(p *changes, it *iterator, n int) error {
	if it.left < 0 {
		return nil
	}
	major := byte(cborhead.Map)
	if it.list {
		major = cborhead.Array
	}
	p.begin()
	p.scratch = cborhead.Append(p.scratch, major, uint64(n))
	return p.end(it.head, it.body)
}
