package protobuf

import (
	"fmt"
	"io"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// wireType tells how a value is encoded. It is the low three bits of a tag. Encoding, "Message Structure".
type wireType uint8

const (
	wireVarint  wireType = 0
	wireFixed64 wireType = 1
	wireLength  wireType = 2 // a length and then that many bytes: text, bytes, a message, packed numbers
	wireStart   wireType = 3 // the start of a group; the group ends at a tag with the same field number and wireEnd
	wireEnd     wireType = 4
	wireFixed32 wireType = 5
)

// MaxNumber is the largest field number. Language guide, "Assigning Field Numbers".
const MaxNumber = 1<<29 - 1

// MaxDepth bounds the nesting of groups and messages. format.Options cannot raise it.
const MaxDepth = 256

// Record is one field of a message: a tag with its value.
type Record struct {
	Number   int
	Wire     uint8 // 0: a varint, 1: eight bytes, 2: bytes behind their length, 3: a group, 5: four bytes
	Off, End int   // offsets of the content; that of a group includes its end tag
}

// Next returns the record at pos, which is less than len(data). The next one is at its End. Tags and lengths longer than necessary are
// accepted. If data ends within the record, the error is a wrapped io.ErrUnexpectedEOF. Any other error is a *format.SyntaxError.
func Next(data []byte, pos int) (Record, error) {
	r, err := readRecord(data, pos, len(data))
	return Record{r.number(), uint8(r.wire()), r.off, r.end}, err
}

// record is one tag with its value. The offsets count from the start of the message. The content of a group includes
// the group's end tag. record has only four fields, because the compiler keeps structs of up to four fields in
// registers.
type record struct{ tag, head, off, end int }

// number converts the tag to an unsigned number first, because a tag uses 32 bits and int may have only 32.
func (r record) number() int    { return int(uint(r.tag) >> 3) }
func (r record) wire() wireType { return wireType(r.tag & 7) }

// readRecord returns the record at pos of data[:end]. end is the end of a message, and pos is less than end. Tags and
// lengths longer than necessary are accepted. If data ends within the record, the error is a wrapped
// io.ErrUnexpectedEOF. Any other error is a *format.SyntaxError.
func readRecord(data []byte, pos, end int) (record, error) {
	return readRecordWithin(data, pos, end, MaxDepth)
}

// readRecordWithin is readRecord with a limit: groups may nest depth levels deep.
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

// skipGroup returns the offset after the end tag of the group g.
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

// readVarint reads the number at pos. behind is the offset after the number. Encoding, "Base 128 Varints": ten bytes
// hold 64 bits.
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

// truncated returns the error for a record that exceeds end. If data continues after end, the enclosing message is
// malformed. Otherwise data ends early.
func truncated(data []byte, pos, end int, reason string) error {
	if end < len(data) {
		return syntaxError(pos, reason+" in its message")
	}
	return fmt.Errorf("protobuf: %s at offset %d: %w", reason, pos, io.ErrUnexpectedEOF)
}

func syntaxError(offset int, reason string) error {
	return &format.SyntaxError{Format: "protobuf", Offset: offset, Reason: reason}
}

// tagEnd returns the offset after the tag of r. If r has a length, the length starts there.
func (r record) tagEnd(data []byte) int {
	_, behind, err := readVarint(data, r.head, r.off)
	if err != nil {
		return r.off
	}
	return behind
}

// span returns the span that r has without a schema. A group is an Extension; any other record is Untyped.
func (r record) span() field.Span {
	if r.wire() == wireStart {
		return field.Span{Head: r.head, Off: r.off, End: r.end, Kind: field.Extension}
	}
	return field.Span{Head: r.head, Off: r.off, End: r.end, Kind: field.Untyped}
}
