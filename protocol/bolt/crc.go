package bolt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
)

// idEnd is the offset behind the request id in version 2, the only one with a CRC.
const idEnd = 10

// SetID replaces the request id where the frame lies, and puts its CRC right, if it has one, at a cost that does not
// grow with the frame. The fixed header has to be there, nothing else. If the frame's end is not in the bytes Next was
// given, pass what SetID returns on to PatchCRC for each piece that comes later; it is 0 for a frame without a CRC.
func (f Frame) SetID(id uint32) (delta uint32) {
	if f.trailer != 0 {
		delta = f.patch(id)
	}
	binary.BigEndian.PutUint32(f.data[f.data[0]+4:], id)
	return delta
}

// patch puts the CRC right, as far as it is there, for a frame that is about to get another id.
func (f Frame) patch(id uint32) (delta uint32) {
	delta = CRCDelta(f.ID(), id, f.size)
	PatchCRC(f.data, f.size, delta)
	return delta
}

// CRCDelta returns by what the CRC of a frame of frameLen bytes, CRC included, changes when its request id does: the
// difference of the two, by exclusive or. It depends on nothing else in the frame.
func CRCDelta(oldID, newID uint32, frameLen int) uint32 {
	// A CRC is linear: the difference of two is the CRC, begun with 0, of the difference of the bytes. That is all zeros
	// but for the id, and CRC-32 takes the bits of a byte in reverse.
	return advance(bits.ReverseBytes32(oldID^newID), frameLen-crcLen-idEnd+4)
}

// PatchCRC changes by delta those bytes of a frame's CRC that lie in piece. left is how many bytes of the frame there
// are from the first one of piece on, CRC included; what follows the frame in piece is left alone.
func PatchCRC(piece []byte, left int, delta uint32) {
	for i := max(left-crcLen, 0); i < min(left, len(piece)); i++ {
		piece[i] ^= byte(delta >> (8 * (left - 1 - i)))
	}
}

// CheckCRC computes the CRC of a frame that is all there and compares: *SyntaxError if they differ. A frame without a
// CRC is always right; one that is not all there gives io.ErrUnexpectedEOF.
func (f Frame) CheckCRC() error {
	if !f.HasCRC() {
		return nil
	}
	if len(f.data) < f.size {
		return io.ErrUnexpectedEOF
	}
	at := f.size - crcLen
	got, want := binary.BigEndian.Uint32(f.data[at:]), crc32.ChecksumIEEE(f.data[:at])
	if got != want {
		return &SyntaxError{at, "crc", fmt.Sprintf("%08x where the frame has %08x: it was damaged on its way", got, want)}
	}
	return nil
}

// advance returns the CRC register after n zero bytes: r times x to the power of 8n, which zeros holds for each digit.
func advance(r uint32, n int) uint32 {
	for i := 0; n > 0; i, n = i+1, n>>8 {
		if digit := n & 255; digit != 0 {
			r = multiply(r, zeros[i][digit])
		}
	}
	return r
}

// zeros holds the factors for each digit, to the base of 256, of a number of zero bytes below 2^32: 4 KiB, as with
// smaller digits there would be more to multiply by.
var zeros = func() (table [4][256]uint32) {
	factor := uint32(1) << (31 - 8) // x to the power of 8
	for i := range table {
		table[i][0] = 1 << 31 // x to the power of 0
		for digit := 1; digit < 256; digit++ {
			table[i][digit] = multiply(table[i][digit-1], factor)
		}
		factor = multiply(table[i][255], factor)
	}
	return table
}()

// multiply returns a times b modulo CRC-32's polynomial; the highest bit stands for x to the power of 0.
func multiply(a, b uint32) uint32 {
	var product uint64
	for i := range 32 {
		product ^= (uint64(a) << i) & -(uint64(b) >> i & 1)
	}
	product <<= 1 // so that its upper half is in the form of a and b, and its lower half 32 powers of x above it
	low := uint32(product)
	for range 4 {
		low = low>>8 ^ crc32.IEEETable[byte(low)]
	}
	return uint32(product>>32) ^ low
}
