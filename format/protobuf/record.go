package protobuf

import (
	"fmt"
	"io"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// wireType is the encoding of a value: the low three bits of a tag. Encoding, "Message Structure".
type wireType uint8

const (
	wireVarint  wireType = 0
	wireFixed64 wireType = 1
	wireLength  wireType = 2 // a length and that many bytes: text, bytes, a message, packed numbers
	wireStart   wireType = 3 // a group; it ends at the tag with its number and wireEnd
	wireEnd     wireType = 4
	wireFixed32 wireType = 5
)

// MaxNumber is the largest field number. Language guide, "Assigning Field Numbers".
const MaxNumber = 1<<29 - 1

// MaxDepth bounds the nesting of groups and messages, whatever format.Options say.
const MaxDepth = 256

// record is one tag and value, as offsets from the start of the message. The content of a group includes its end tag.
// record has four fields, because the compiler keeps structs of up to four in registers.
type record struct{ tag, head, off, end int }

// number shifts without a sign: a tag has 32 bits, and int may have no more.
func (r record) number() int    { return int(uint(r.tag) >> 3) }
func (r record) wire() wireType { return wireType(r.tag & 7) }

// readRecord returns the record at pos of data[:end], where end is the end of a message and pos is less than end. It
// accepts tags and lengths longer than necessary. If data ends within the record the error is io.ErrUnexpectedEOF,
// wrapped, else *format.SyntaxError.
func readRecord(data []byte, pos, end int) (record, error) {
	return readRecordWithin(data, pos, end, MaxDepth)
}

// readRecordWithin is readRecord where depth more groups may nest.
func readRecordWithin(data []byte, pos, end, depth int) (record, error) {
	head := pos
	b := data[:end]
	tag := uint64(b[pos])
	var err error
	if pos++; tag >= 0x80 {
		if tag, pos, err = readVarint(data, head, end); err != nil {
			return record{}, err
		}
	}
	if tag>>3-1 >= MaxNumber {
		return record{}, syntaxError(head, fmt.Sprintf("field number %d is not 1 to %d", tag>>3, MaxNumber))
	}
	r := record{tag: int(tag), head: head, off: pos}
	size := uint64(0)
	switch r.wire() {
	case wireVarint:
		if pos < end && b[pos] < 0x80 {
			r.end = pos + 1
			return r, nil
		}
		_, r.end, err = readVarint(data, pos, end)
		return r, err
	case wireFixed64:
		size = 8
	case wireFixed32:
		size = 4
	case wireLength:
		if size, r.off, err = readVarint(data, pos, end); err != nil {
			return r, err
		}
	case wireStart:
		r.end, err = skipGroup(data, r, end, depth)
		return r, err
	case wireEnd:
		return r, syntaxError(head, fmt.Sprintf("a group with the number %d ends that did not begin", r.number()))
	default:
		return r, syntaxError(head, fmt.Sprintf("wire type %d of field %d does not exist", r.wire(), r.number()))
	}
	if size > uint64(end-r.off) {
		return r, truncated(data, r.off, end, fmt.Sprintf("field %d of %d bytes exceeds the %d left", r.number(), size, end-r.off))
	}
	r.end = r.off + int(size)
	return r, nil
}

// skipGroup returns the offset behind the end tag of the group g.
func skipGroup(data []byte, g record, end, depth int) (int, error) {
	if depth == 0 {
		return 0, syntaxError(g.head, fmt.Sprintf("groups nest deeper than %d", MaxDepth))
	}
	for pos := g.off; pos < end; {
		tag, behind, err := readVarint(data, pos, end)
		if err != nil {
			return 0, err
		}
		if tag == uint64(g.number())<<3|uint64(wireEnd) {
			return behind, nil
		}
		r, err := readRecordWithin(data, pos, end, depth-1)
		if err != nil {
			return 0, err
		}
		pos = r.end
	}
	return 0, truncated(data, end, end, fmt.Sprintf("a group with the number %d has no end", g.number()))
}

// readVarint reads the number at pos and returns the offset behind it. Encoding, "Base 128 Varints": ten bytes hold 64
// bits.
func readVarint(data []byte, pos, end int) (n uint64, behind int, err error) {
	b := data[pos:end]
	for i, c := range b {
		if i == 9 && c > 1 {
			return 0, 0, syntaxError(pos, "a varint has more than 64 bits")
		}
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return n, pos + i + 1, nil
		}
	}
	return 0, 0, truncated(data, pos, end, "a varint has no end")
}

// truncated returns the error for a record that exceeds end. If data continues behind end, the enclosing message is
// malformed; otherwise data ends early.
func truncated(data []byte, pos, end int, reason string) error {
	if end < len(data) {
		return syntaxError(pos, reason+" in its message")
	}
	return fmt.Errorf("protobuf: %s at offset %d: %w", reason, pos, io.ErrUnexpectedEOF)
}

func syntaxError(offset int, reason string) error {
	return &format.SyntaxError{Format: "protobuf", Offset: offset, Reason: reason}
}

// tagEnd returns the offset behind r's tag, where its length starts if it has one.
func (r record) tagEnd(data []byte) int {
	_, behind, err := readVarint(data, r.head, r.off)
	if err != nil {
		return r.off
	}
	return behind
}

// span returns the span of r without a schema. A group is an Extension, any other record Untyped.
func (r record) span() field.Span {
	if r.wire() == wireStart {
		return field.Span{Head: r.head, Off: r.off, End: r.end, Kind: field.Extension}
	}
	return field.Span{Head: r.head, Off: r.off, End: r.end, Kind: field.Untyped}
}
