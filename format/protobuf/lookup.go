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
		at, err := f.followPath(data, p.Steps(), nil)
		return at.span, err
	}
	return lookup(data, p.Steps()) // the compiler inlines Lookup into its wrapper for interface calls, so such a call is one call
}

func lookup(data []byte, steps []field.Step) (field.Span, error) {
	at := field.Span{End: len(data), Kind: field.Map}
	for i := range steps {
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

// findRecord returns the first record in data[pos:end] with this field number.
func findRecord(data []byte, pos, end, number int) (record, error) {
	if number <= 0 {
		return record{}, field.ErrNotFound
	}
	for {
		r, err := scanRecords(data, pos, end, numberBit(number), false)
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
// record. It decodes tags and lengths of one or two bytes itself. For any other record it calls readRecord. If odd is
// true, it returns the first of these other records, or the error of readRecord. A record that exceeds end is noticed
// only when the next record is read.
func scanRecords(data []byte, pos, end int, want uint64, odd bool) (record, error) {
	const highs = 0x8080808080808080
	b := data[:end]
	head := pos
	for uint(pos) < uint(len(b)) {
		head = pos
		tag, off, stop := uint(b[pos]), pos+1, 0
		if tag-8 >= 0x80-8 { // the tag has two bytes, or its field number is 0
			if tag < 8 || uint(off) >= uint(len(b)) || b[off]-1 >= 0x7f {
				tag = uint(wireEnd)
			} else {
				tag, off = tag&0x7f|uint(b[off])<<7, off+1
			}
		}
		switch wireType(tag & 7) {
		case wireVarint:
			switch rest := b[off:]; {
			case len(rest) > 0 && rest[0] < 0x80:
				stop = off + 1
			case len(rest) > 1 && rest[1] < 0x80:
				stop = off + 2
			case len(rest) >= 10:
				if last := ^binary.LittleEndian.Uint64(rest) & highs; last != 0 {
					stop = off + bits.TrailingZeros64(last)/8 + 1
				} else if rest[8] < 0x80 {
					stop = off + 9
				} else if rest[9] <= 1 {
					stop = off + 10
				}
			}
		case wireFixed64:
			stop = off + 8
		case wireFixed32:
			stop = off + 4
		case wireLength:
			if off+1 < len(b) {
				if n := int(b[off]); n < 0x80 {
					off++
					stop = off + n
				} else if more := int(b[off+1]); more < 0x80 {
					off += 2
					stop = off + n&0x7f + more<<7
				}
			}
		}
		if stop == 0 {
			r, err := readRecord(data, head, end)
			if err != nil || odd || want&numberBit(r.number()) != 0 {
				return r, err
			}
			pos = r.end
			continue
		}
		if want>>(tag>>3&63)&1 != 0 && stop <= len(b) {
			return record{int(tag), head, off, stop}, nil
		}
		pos = stop
	}
	if pos <= end {
		return record{}, nil
	}
	_, err := readRecord(data, head, end) // the last record exceeds end: reading it again gives the error
	return record{}, err
}
