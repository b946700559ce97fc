package log

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"example.com/ferry"
	"example.com/ferry/engine"
)

const (
	frameHeader = 32
	fieldsSize  = 16 // of the body of a message: what comes before the tag
	maxBody     = 1 << 30
)

// kind says what a frame has.
type kind uint8

// The kinds of frames.
const (
	message kind = 1 + iota // a record
	removed                 // ranges of numbers whose records are removed
	reserve                 // numbers up to that of the frame may have been given
	known                   // the tag and ID of a record that is gone
	summary                 // what a sealed segment has; its last frame
)

// frame is one frame of a segment.
type frame struct {
	kind      kind
	typ       ferry.Type
	validated bool
	sequence  uint64
	stored    int64
	body      []byte
	length    int // with the header
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal completes the frame that begins at start in b: lengths and sums.
func (f *frame) seal(b []byte, start int, salt uint32) {
	h := b[start:]
	binary.BigEndian.PutUint32(h, uint32(len(h)-frameHeader))
	h[4], h[5], h[6], h[7] = byte(f.kind), byte(f.typ), 0, 0
	if f.validated {
		h[6] = 1
	}
	binary.BigEndian.PutUint64(h[8:], f.sequence)
	binary.BigEndian.PutUint64(h[16:], uint64(f.stored))
	binary.BigEndian.PutUint32(h[24:], crc32.Update(salt, castagnoli, h[frameHeader:]))
	binary.BigEndian.PutUint32(h[28:], crc32.Update(salt, castagnoli, h[:28]))
}

var emptyHeader [frameHeader]byte

// appendFrame appends a frame with f.body.
func appendFrame(dst []byte, salt uint32, f frame) []byte {
	start := len(dst)
	dst = append(append(dst, emptyHeader[:]...), f.body...)
	f.seal(dst, start, salt)
	return dst
}

// appendMessage appends the frame of a record.
func appendMessage(dst []byte, salt uint32, r *engine.Record) []byte {
	start := len(dst)
	dst = append(dst, emptyHeader[:]...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.Time))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(r.Tag)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(r.ID)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(r.Extension)))
	dst = append(dst, r.Tag...)
	dst = append(dst, r.ID...)
	dst = append(dst, r.Extension...)
	dst = append(dst, r.Payload...)
	f := frame{kind: message, typ: r.Type, validated: r.Validated, sequence: r.Sequence, stored: r.Stored}
	f.seal(dst, start, salt)
	return dst
}

// appendNote appends the frame of an ID whose record is gone.
func appendNote(dst []byte, salt uint32, r *engine.Record) []byte {
	start := len(dst)
	dst = appendMessage(dst, salt, &engine.Record{Sequence: r.Sequence, Stored: r.Stored, Tag: r.Tag, ID: r.ID})
	f := frame{kind: known, sequence: r.Sequence, stored: r.Stored}
	f.seal(dst, start, salt)
	return dst
}

// Cost returns the bytes that a record takes.
func Cost(r *engine.Record) int64 {
	return frameHeader + fieldsSize + int64(len(r.Tag)+len(r.ID)+len(r.Extension)+len(r.Payload))
}

// Check returns an error if a record fits in no frame.
func Check(r *engine.Record) error {
	if len(r.Tag) > math.MaxUint16 || len(r.ID) > math.MaxUint16 {
		return fmt.Errorf("a tag of %d bytes and an ID of %d: each may have %d", len(r.Tag), len(r.ID), math.MaxUint16)
	}
	if n := Cost(r); n > maxBody {
		return fmt.Errorf("a record of %d bytes: the most is %d", n, maxBody)
	}
	return nil
}

// state says whether bytes are a frame.
type state uint8

const (
	intact     state = iota
	incomplete       // the bytes end before the frame does
	damaged          // a sum is wrong
)

// parse reads the frame at the start of b. length is that of the frame, if its header is intact.
func parse(b []byte, salt uint32) (f frame, s state) {
	if len(b) < frameHeader {
		return f, incomplete
	}
	if binary.BigEndian.Uint32(b[28:]) != crc32.Update(salt, castagnoli, b[:28]) {
		return f, damaged
	}
	size := binary.BigEndian.Uint32(b)
	if size > maxBody {
		return f, damaged
	}
	f = frame{
		kind: kind(b[4]), typ: ferry.Type(b[5]), validated: b[6]&1 != 0,
		sequence: binary.BigEndian.Uint64(b[8:]), stored: int64(binary.BigEndian.Uint64(b[16:])), length: frameHeader + int(size),
	}
	if len(b) < f.length {
		return f, incomplete
	}
	f.body = b[frameHeader:f.length:f.length]
	if crc32.Update(salt, castagnoli, f.body) != binary.BigEndian.Uint32(b[24:]) || (f.kind == message || f.kind == known) && !f.fieldsFit() {
		return f, damaged
	}
	return f, intact
}

func (f *frame) fieldsFit() bool {
	if len(f.body) < fieldsSize {
		return false
	}
	tag, id, extension := f.lengths()
	return tag+id+extension <= len(f.body)-fieldsSize
}

func (f *frame) lengths() (tag, id, extension int) {
	return int(binary.BigEndian.Uint16(f.body[8:])), int(binary.BigEndian.Uint16(f.body[10:])), int(binary.BigEndian.Uint32(f.body[12:]))
}

// View is a record in the buffer of a Reader.
type View struct{ frame }

// Sequence returns the number of the record.
func (v *View) Sequence() uint64 { return v.sequence }

// Stored returns when the record was stored, in Unix nanoseconds.
func (v *View) Stored() int64 { return v.stored }

// Cost returns the bytes that the record takes.
func (v *View) Cost() int64 { return int64(v.length) }

// Tag returns the tag in the buffer.
func (v *View) Tag() []byte {
	tag, _, _ := v.lengths()
	return v.body[fieldsSize : fieldsSize+tag]
}

// ID returns the ID in the buffer.
func (v *View) ID() []byte {
	tag, id, _ := v.lengths()
	return v.body[fieldsSize+tag : fieldsSize+tag+id]
}

// PayloadSize returns the bytes of the payload.
func (v *View) PayloadSize() int {
	t, i, x := v.lengths()
	return len(v.body) - fieldsSize - t - i - x
}

// Record returns the record, whose extension and payload are parts of the buffer. tag is the tag, in memory of its own.
func (v *View) Record(tag string) engine.Record {
	t, i, x := v.lengths()
	b := v.body[fieldsSize+t:]
	return engine.Record{
		Sequence: v.sequence, Stored: v.stored, Tag: tag, Type: v.typ, Validated: v.validated,
		Time: int64(binary.BigEndian.Uint64(v.body)), ID: string(b[:i]), Extension: b[i : i+x : i+x], Payload: b[i+x : len(b) : len(b)],
	}
}

// appendRanges appends the body of a frame of removed numbers.
func appendRanges(dst []byte, ranges []Range) []byte {
	for _, r := range ranges {
		dst = binary.AppendUvarint(dst, r.First)
		dst = binary.AppendUvarint(dst, r.Last-r.First)
	}
	return dst
}

// parseRanges appends the ranges of such a body to list.
func parseRanges(list []Range, b []byte) []Range {
	for len(b) > 0 {
		first, n := binary.Uvarint(b)
		length, m := binary.Uvarint(b[max(n, 0):])
		if n <= 0 || m <= 0 || first == 0 || first+length < first {
			return list // no frame of a Log: the sum was right
		}
		list = append(list, Range{first, first + length})
		b = b[n+m:]
	}
	return list
}
