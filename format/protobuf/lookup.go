package protobuf

import (
	"encoding/binary"
	"math/bits"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/schema"
)

// Format is Protocol Buffers. The zero value finds fields by their numbers, in any message. With a Message, Format is
// for messages of that shape, and finds fields also by their names.
type Format struct{ Message *schema.Message }

var (
	_ format.Format = Format{}
	_ format.Viewer = Format{}
	_ schema.Reader = Format{}
)

// Name returns "protobuf".
func (Format) Name() string { return "protobuf" }

// Descriptor returns the properties of Protocol Buffers. A schema does not change them.
func (Format) Descriptor() format.Descriptor {
	return format.Descriptor{Type: ferry.Protobuf, Numbered: true, SampleKey: "1", Detection: format.DetectNever}
}

// WithSchema returns the format for messages of the shape m. If m is nil, the result is the format for any message.
func (Format) WithSchema(m *schema.Message) format.Format { return Format{Message: m} }

// Lookup returns where the value at p lies. A step is a field number, a name if the format has a schema, or an index in
// a repeated field. The empty path is the whole message. Without a schema, a value with a length counts as a message if
// the path continues in it, and only the first item of a repeated field is found. If a singular field occurs twice,
// Lookup finds the first record, but most consumers read the last one. Validate with a schema refuses such a message.
// Lookup reads only the tags and lengths up to the value. It copies nothing. A missing field gives field.ErrNotFound.
// Data that ends early gives a wrapped io.ErrUnexpectedEOF. Other malformed data gives *format.SyntaxError.
func (f Format) Lookup(data []byte, p field.Path) (field.Span, error) {
	if f.Message != nil {
		return f.lookupWithSchema(data, p)
	}
	at := field.Span{End: len(data), Kind: field.Map}
	for i, steps := 0, p.Steps(); i < len(steps); i++ {
		if i > 0 && wireType(data[at.Head]&7) != wireLength {
			return field.Span{}, field.ErrNotFound
		}
		r, err := findRecord(data, at.Off, at.End, steps[i].Index)
		if err != nil {
			return field.Span{}, err
		}
		at = r.span()
	}
	return at, nil
}

// lookupWithSchema is not inlined, because it would enlarge the frame of Lookup.
//
//go:noinline
func (f Format) lookupWithSchema(data []byte, p field.Path) (field.Span, error) {
	at, err := f.followPath(data, p.Steps(), nil)
	return at.span, err
}

// findRecord returns the first record in data[pos:end] with this field number.
func findRecord(data []byte, pos, end, number int) (record, error) {
	if number <= 0 {
		return record{}, field.ErrNotFound
	}
	for {
		r, err := scanRecords(data, pos, end, numberBit(number))
		if err != nil || r.number() == number {
			return r, err
		}
		if r.end == 0 {
			return record{}, field.ErrNotFound
		}
		pos = r.end
	}
}

// numberBit returns the bit of a field number in the set that scanRecords reads. Numbers that differ by a multiple of
// 64 share a bit.
func numberBit(number int) uint64 { return 1 << (number & 63) }

// scanRecords returns the first record in data[pos:end] whose number has a bit in want. Without one it returns the zero
// record. It decodes tags and lengths of one or two bytes itself. For any other record, also a malformed one, it calls
// readRecord. If want is 0, it returns the first of these other records.
func scanRecords(data []byte, pos, end int, want uint64) (record, error) {
	const highs = 0x8080808080808080 // the high bit of each byte, which is clear in the last byte of a varint

	b := data[:end:end] // a capacity that is equal to the length needs no register
	for pos < len(b) {
		next := b[1:]         // the bytes after tags
		tags := b[:len(next)] // as long as next, so that one bounds check covers both
	usual:
		for uint(pos) < uint(len(tags)) {
			tag, c, off := uint(tags[pos]), next[pos], pos+1 // c is the byte at off
			if tag-8 >= 0x80-8 {                             // the tag has two bytes, or its field number is 0
				if off++; tag < 8 || c-1 >= 0x7f || uint(off) >= uint(len(b)) {
					break
				}
				tag, c = tag&0x7f|uint(c)<<7, b[off]
			}
			stop := off + 1
			switch wireType(tag & 7) { // its branches are predicted, while a size from a table would delay the next record
			case wireVarint:
				if c < 0x80 {
					break
				}
				if uint(stop) < uint(len(b)) && b[stop] < 0x80 {
					stop = off + 2
					break
				}
				rest := b[off:]
				if len(rest) < 10 {
					break usual
				}
				switch last := ^binary.LittleEndian.Uint64(rest) & highs; {
				case last != 0:
					stop = off + bits.TrailingZeros64(last)/8 + 1
				case rest[8] < 0x80:
					stop = off + 9
				case rest[9] <= 1:
					stop = off + 10
				default:
					break usual
				}
			case wireFixed64:
				stop = off + 8
			case wireFixed32:
				stop = off + 4
			case wireLength:
				if off = stop; c < 0x80 {
					stop += int(c)
					break
				}
				if uint(off) >= uint(len(b)) || b[off] >= 0x80 {
					break usual
				}
				off++
				stop = off + int(c&0x7f) + int(b[off-1])<<7
			default:
				break usual
			}
			if stop > len(b) { // readRecord returns the error
				break
			}
			if want>>(tag>>3&63)&1 != 0 {
				return record{int(tag), pos, off, stop}, nil
			}
			pos = stop
		}
		if pos == len(b) {
			break
		}
		r, err := readRecord(data, pos, end)
		if err != nil || want == 0 || want&numberBit(r.number()) != 0 {
			return r, err
		}
		pos = r.end
	}
	return record{}, nil
}
