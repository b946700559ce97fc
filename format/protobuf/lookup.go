package protobuf

import (
	"encoding/binary"
	"math/bits"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/schema"
)

// Format is Protocol Buffers. Its zero value reads any message, by field numbers; with a Message of a schema it reads
// messages of that shape, also by names.
type Format struct{ Message *schema.Message }

var (
	_ format.Format = Format{}
	_ format.Viewer = Format{}
)

// Name returns protobuf.
func (Format) Name() string { return "protobuf" }

// Lookup returns where the value at p lies. A step is a field number, or with a schema a name or a number, or an index
// in a repeated field; the empty path is the whole message. Without a schema a step leads into any bytes with a length,
// which are taken for a message, and of a repeated field only the first item is found. Where a field that does not repeat
// stands twice the first one is found, while most consumers take the last: with a schema Validate refuses that. It reads
// tags and lengths only, up to the hit, and copies nothing. A missing field gives field.ErrNotFound; data that ends early
// io.ErrUnexpectedEOF, wrapped; anything else malformed *format.SyntaxError.
func (f Format) Lookup(data []byte, p field.Path) (field.Span, error) {
	if f.Message != nil {
		at, err := f.follow(data, p.Steps(), nil)
		return at.span, err
	}
	return lookup(data, p.Steps()) // inlined, so that a call through the interface is one call
}

func lookup(data []byte, steps []field.Step) (field.Span, error) {
	at := field.Span{End: len(data), Kind: field.Map}
	for i := range steps {
		if i > 0 && !holds(data, at) {
			return field.Span{}, field.ErrNotFound
		}
		r, err := seek(data, at.Off, at.End, steps[i].Index)
		if err != nil {
			return field.Span{}, err
		}
		at = r.span()
	}
	return at, nil
}

// holds reports whether what stands at s, the span of a record, can be taken for a message.
func holds(data []byte, s field.Span) bool { return wireType(data[s.Head]&7) == wireLength }

// seek returns the first record with the number in data[pos:end].
func seek(data []byte, pos, end, number int) (record, error) {
	if number <= 0 {
		return record{}, field.ErrNotFound
	}
	for {
		head, err := scan(data, pos, end, bit(number))
		if err != nil {
			return record{}, err
		}
		if head == end {
			return record{}, field.ErrNotFound
		}
		r, err := next(data, head, end)
		if err != nil || r.number == number {
			return r, err
		}
		pos = r.end
	}
}

// bit stands for a field number in what scan is asked for. Numbers that are 64 apart share it.
func bit(number int) uint64 { return 1 << (number & 63) }

// window is what a usual record without its content takes at most, in bytes: a tag of two and a varint of ten.
const window = 12

// scan returns the offset of the first record in data[pos:end] whose number want has a bit for; end if there is none.
// What stands there may have another number, or be malformed: the caller looks. Whether a record ends inside is seen where
// the next one is sought.
func scan(data []byte, pos, end int, want uint64) (int, error) {
	const highs = 0x8080808080808080
	b := data[:end]
	head := pos
	for pos < len(b) {
		head = pos
		if len(b)-pos >= window {
			w := b[pos : pos+window : pos+window]
			tag, n := uint(w[0]), 1
			if tag >= 0x80 {
				tag, n = tag&0x7f|uint(w[1])<<7, 2
			}
			if want>>(tag>>3&63)&1 != 0 {
				return pos, nil
			}
			if tag-8 < 0x4000-8 { // a number that exists, in a tag of one byte or two
				first := w[n]
				switch wireType(tag & 7) {
				case wireVarint:
					if first < 0x80 {
						pos += n + 1
						continue
					}
					if stop := ^binary.LittleEndian.Uint64(w[n:]) & highs; stop != 0 {
						pos += n + bits.TrailingZeros64(stop)/8 + 1
						continue
					}
					if w[n+8] < 0x80 {
						pos += n + 9
						continue
					}
					if w[n+9] <= 1 {
						pos += n + 10
						continue
					}
				case wireLength:
					if first < 0x80 {
						pos += n + 1 + int(first)
						continue
					}
				case wireFixed32:
					pos += n + 4
					continue
				case wireFixed64:
					pos += n + 8
					continue
				}
			}
		}
		r, err := next(b, pos, end)
		if err != nil {
			_, err = next(data, pos, end)
			return 0, err
		}
		if want&bit(r.number) != 0 {
			return pos, nil
		}
		pos = r.end
	}
	if pos == end {
		return end, nil
	}
	_, err := next(data, head, end) // goes on behind the end
	return 0, err
}
