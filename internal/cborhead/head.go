package cborhead

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"example.com/ferry/format"
)

// Major types. RFC 8949, section 3.1.
const (
	Uint   = 0
	Nint   = 1 // the value is the integer -1-Arg
	Bytes  = 2
	Text   = 3
	Array  = 4
	Map    = 5
	Tag    = 6
	Simple = 7
)

// Initial bytes with a meaning of their own: complete items, heads with an argument of fixed length, and the break. RFC
// 8949, appendix B.
const (
	False     = 0xf4
	True      = 0xf5
	Null      = 0xf6
	Undefined = 0xf7
	SimpleArg = 0xf8 // the next byte is a simple value
	Float16   = 0xf9
	Float32   = 0xfa
	Float64   = 0xfb
	Break     = 0xff
)

// Indefinite is the Info of a string or container of indefinite length, which a Break ends. RFC 8949, section 3.2.
const Indefinite = 31

// Head is the decoded head of one item.
type Head struct {
	Major byte
	Info  byte   // additional information: 0 to 27, or Indefinite
	Arg   uint64 // argument: the number after Info, or Info itself if it is less than 24
	Next  int    // offset after the head
}

// Read reads the head at pos. It does not check that the content is in data. Data that ends within the head gives
// io.ErrUnexpectedEOF. A Break or a reserved initial byte gives a *format.SyntaxError.
func Read(data []byte, pos int) (Head, error) {
	if uint(pos) >= uint(len(data)) {
		return Head{}, io.ErrUnexpectedEOF
	}
	b := data[pos]
	if info := b & 31; info < 24 {
		return Head{Major: b >> 5, Info: info, Arg: uint64(info), Next: pos + 1}, nil
	}
	return readLong(data, pos)
}

func readLong(data []byte, pos int) (Head, error) {
	b := data[pos]
	h := Head{Major: b >> 5, Info: b & 31, Next: pos + 1}
	switch {
	case h.Info <= 27:
		n := 1 << (h.Info - 24)
		if len(data)-h.Next < n {
			return Head{}, io.ErrUnexpectedEOF
		}
		h.Arg = argument(data[h.Next:], n)
		h.Next += n
		return h, nil
	case h.Info == Indefinite && h.Major >= Bytes && h.Major <= Map:
		return h, nil
	case b == Break:
		return Head{}, syntax(pos, "a break (0xff) where an item should start")
	}
	return Head{}, syntax(pos, fmt.Sprintf("initial byte 0x%02x is reserved", b))
}

// argument decodes an argument of n bytes: 1, 2, 4 or 8.
func argument(b []byte, n int) uint64 {
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

// Len returns the length in bytes of a head that starts with initial: 1, 2, 3, 5 or 9. It does not check that initial
// is valid; Read does.
func Len(initial byte) int {
	if info := initial & 31; info >= 24 && info <= 27 {
		return 1 + 1<<(info-24)
	}
	return 1
}

// Size returns the length in bytes of the shortest head with the argument arg. RFC 8949, section 4.2.1.
func Size(arg uint64) int {
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

// Append appends the shortest head with the argument arg to dst.
func Append(dst []byte, major byte, arg uint64) []byte {
	b := major << 5
	switch Size(arg) {
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

// Half converts a half-precision number to a float64. RFC 8949, appendix D.
func Half(bits uint16) float64 {
	exponent, mantissa := int(bits>>10&31), float64(bits&0x3ff)
	var f float64
	switch exponent {
	case 0:
		f = math.Ldexp(mantissa, -24)
	case 31:
		if f = math.Inf(1); mantissa != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(mantissa+1024, exponent-25)
	}
	if bits&0x8000 != 0 {
		f = -f
	}
	return f
}

func syntax(offset int, reason string) error {
	return &format.SyntaxError{Format: "cbor", Offset: offset, Reason: reason}
}
