package y3

import (
	"fmt"
	"io"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Dialect is one of two encodings. Both are called draft-01.
type Dialect uint8

const (
	P Dialect = iota // y3-codec-golang: integers in groups of seven bits, and slices
	N                // yomorun/y3 and YoMo's frames: integers as plain big-endian bytes, and no slices
)

// The parts of a tag byte. SPEC draft-01, "Tag".
const (
	nodeFlag  = 0x80
	sliceFlag = 0x40
	keyMask   = 0x3f
)

// MaxLength is the size in bytes of the largest value of a packet. A length is a signed 32-bit number.
const MaxLength = math.MaxInt32

// MaxDepth bounds the nesting of nodes. format.Options cannot raise it.
const MaxDepth = 256

const maxLengthBytes = 5

// Packet is one tag, length and value. The offsets count from the start of the message: Head is the tag, Off the value,
// End the end of the value.
type Packet struct {
	Tag            byte
	Head, Off, End int
}

// Key returns the low six bits of the tag.
func (p Packet) Key() int { return int(p.Tag & keyMask) }

// IsNode reports whether the value is a sequence of packets. A slice is a node, too.
func (p Packet) IsNode() bool { return p.Tag&nodeFlag != 0 }

// Next returns the packet at offset pos of data[:end]. end is the end of a node or of the message, and pos is less than
// end. Lengths longer than necessary are accepted, up to five bytes. If data ends within the packet, the error is a
// wrapped io.ErrUnexpectedEOF. Any other error is a *format.SyntaxError.
func Next(data []byte, pos, end int) (Packet, error) {
	b := data[:end]
	if uint(pos)+1 >= uint(len(b)) {
		return Packet{}, truncated(data, pos, end, 0)
	}
	n, off := int(b[pos+1]), pos+2
	if n >= 0x40 {
		var err error
		if n, off, err = readLength(data, pos+1, end); err != nil {
			return Packet{}, err
		}
	}
	if n > len(b)-off {
		return Packet{}, truncated(data, off, end, n)
	}
	return Packet{Tag: b[pos], Head: pos, Off: off, End: off + n}, nil
}

// readLength reads the length n at pos. off is the offset after the length. A length is a PVarInt32: a signed number
// with seven bits in each byte, most significant bits first. SPEC draft-01, "Length".
func readLength(data []byte, pos, end int) (n, off int, err error) {
	b := data[pos:end]
	if len(b) > 0 && b[0]&0x40 != 0 {
		return 0, 0, &format.SyntaxError{Format: "y3", Offset: pos, Reason: "negative length"}
	}
	sum := uint64(0) // five bytes hold 35 bits
	for i, c := range b {
		sum = sum<<7 | uint64(c&0x7f)
		switch {
		case sum > MaxLength:
			return 0, 0, &format.SyntaxError{Format: "y3", Offset: pos, Reason: "length exceeds 2147483647"}
		case c < 0x80:
			return int(sum), pos + i + 1, nil
		case i+1 == maxLengthBytes:
			return 0, 0, &format.SyntaxError{Format: "y3", Offset: pos, Reason: "length of more than 5 bytes"}
		}
	}
	return 0, 0, truncated(data, end, end, 0)
}

// readTwoByteLength returns the length at pos if it has two bytes, of which first is the first. For another length, and
// for 0, it returns 0.
func readTwoByteLength(data []byte, pos, first int) int {
	if first&0x40 != 0 || uint(pos+1) >= uint(len(data)) || data[pos+1] >= 0x80 {
		return 0
	}
	return first&0x3f<<7 | int(data[pos+1])
}

// truncated returns the error for a packet that exceeds end. n is the length of the value, which starts at pos. If the
// length itself is incomplete, n is 0. If data continues after end, the enclosing node is malformed. Otherwise data
// ends early.
func truncated(data []byte, pos, end, n int) error {
	reason := "packet ends before its length does"
	if n > 0 {
		reason = fmt.Sprintf("length %d exceeds the %d bytes left", n, end-pos)
	}
	if end < len(data) {
		return &format.SyntaxError{Format: "y3", Offset: pos, Reason: reason + " in its node"}
	}
	return fmt.Errorf("y3: %s at offset %d: %w", reason, pos, io.ErrUnexpectedEOF)
}

// lengthSize returns how many bytes appendLength writes for n.
func lengthSize(n int) int {
	size := 1
	for n >>= 6; n > 0; n >>= 7 {
		size++
	}
	return size
}

func appendLength(dst []byte, n int) []byte {
	for shift := 7 * (lengthSize(n) - 1); shift > 0; shift -= 7 {
		dst = append(dst, 0x80|byte(n>>shift))
	}
	return append(dst, byte(n&0x7f))
}

// kind returns the kind of a packet. In dialect P a node whose first packet has key 0 is a slice, even without the
// slice flag. y3-codec-golang omits the flag for a slice of structs at the root, and its fields have keys from 0x10 on.
func (d Dialect) kind(data []byte, tag byte, off, end int) field.Kind {
	switch {
	case tag&nodeFlag == 0:
		return field.Untyped
	case tag&sliceFlag != 0:
		return field.List
	case d == P && off < end && data[off]&keyMask == 0:
		return field.List
	}
	return field.Map
}

// Span returns where p lies, and its kind. p must be a packet of data that Next returned.
func (f Format) Span(data []byte, p Packet) field.Span { return f.Dialect.span(data, p) }

func (d Dialect) span(data []byte, p Packet) field.Span {
	return field.Span{Head: p.Head, Off: p.Off, End: p.End, Kind: d.kind(data, p.Tag, p.Off, p.End)}
}
