package cborhead

import (
	"errors"
	"io"
	"math"
	"testing"

	"example.com/ferry/format"
)

// TestShortestHeads writes heads with arguments just below and above each change of length. RFC 8949, section 4.2.1 and
// appendix A.
func TestShortestHeads(t *testing.T) {
	t.Parallel()
	for arg, want := range map[uint64]string{
		0: "\x60", 23: "\x77", 24: "\x78\x18", 255: "\x78\xff", 256: "\x79\x01\x00", math.MaxUint16: "\x79\xff\xff",
		1 << 16: "\x7a\x00\x01\x00\x00", math.MaxUint32: "\x7a\xff\xff\xff\xff",
		1 << 32: "\x7b\x00\x00\x00\x01\x00\x00\x00\x00", math.MaxUint64: "\x7b\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		got := Append(nil, Text, arg)
		if string(got) != want || Size(arg) != len(want) || Len(got[0]) != len(want) {
			t.Errorf("%d: got % x, Size %d, Len %d, want % x", arg, got, Size(arg), Len(got[0]), want)
		}
		h, err := Read(append([]byte{0}, got...), 1)
		if err != nil || h.Major != Text || h.Arg != arg || h.Next != 1+len(want) {
			t.Errorf("%d: read back as %+v, %v", arg, h, err)
		}
		for n := range got {
			if _, err := Read(got[:n], 0); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d, cut at %d: got %v, want io.ErrUnexpectedEOF", arg, n, err)
			}
		}
	}
}

// TestEachInitialByte reads each byte as the start of an item. RFC 8949, appendix B.
func TestEachInitialByte(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		h, err := Read([]byte{byte(b), 0, 0, 0, 0, 0, 0, 0, 0}, 0)
		info := b & 31
		isIndefinite := info == Indefinite && b>>5 >= Bytes && b>>5 <= Map
		var bad *format.SyntaxError
		switch {
		case info <= 27 || isIndefinite:
			if err != nil || int(h.Major) != b>>5 || int(h.Info) != info || h.Next != Len(byte(b)) {
				t.Errorf("0x%02x: got %+v, %v, of length %d", b, h, err, Len(byte(b)))
			}
		case !errors.As(err, &bad) || bad.Offset != 0:
			t.Errorf("0x%02x: got %+v, %v, want a *format.SyntaxError", b, h, err)
		}
	}
}

// TestHalf decodes the numbers of RFC 8949, appendix A.
func TestHalf(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint16]float64{
		0x0000: 0, 0x3c00: 1, 0x3e00: 1.5, 0x7bff: 65504, 0x0001: 5.960464477539063e-8, 0x0400: 0.00006103515625,
		0xc400: -4, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
	} {
		if got := Half(bits); got != want {
			t.Errorf("0x%04x: got %v, want %v", bits, got, want)
		}
	}
	if got := Half(0x7e00); got == got {
		t.Errorf("0x7e00: got %v, want NaN", got)
	}
	if got := Half(0x8000); !math.Signbit(got) {
		t.Errorf("0x8000: got %v, want -0", got)
	}
}
