package bolt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
)

// idEnd is the offset after the request id in version 2. Version 1 has no CRC.
const idEnd = 10

// SetID replaces the request id in place and corrects the CRC. The cost does not depend on the length of the frame. SetID
// needs the fixed header only. If the end of the frame has not arrived, pass delta to PatchCRC together with each later piece.
// For a frame without a CRC, delta is 0.
func (f Frame) SetID(id uint32) (delta uint32) {
	if f.trailer != 0 {
		delta = f.patch(id)
	}
	binary.BigEndian.PutUint32(f.data[f.data[0]+4:], id)
	return delta
}

// patch corrects the part of the CRC that has arrived. It must be called before the request id becomes id.
func (f Frame) patch(id uint32) (delta uint32) {
	delta = CRCDelta(f.ID(), id, f.size)
	PatchCRC(f.data, f.size, delta)
	return delta
}

// CRCDelta returns the exclusive or of two CRCs of a frame: that with oldID and that with newID. frameLen is the length of the
// frame in bytes with its CRC. The result depends on no other part of the frame.
func CRCDelta(oldID, newID uint32, frameLen int) uint32 {
	// The function is linear: the difference of two CRCs is the CRC, started with 0, of the difference of the bytes. The bytes
	// differ in the id only. CRC-32 processes the bits of a byte in reverse order.
	return advanceCRC(bits.ReverseBytes32(oldID^newID), frameLen-crcLen-idEnd+4)
}

// PatchCRC applies delta to those bytes of a frame's CRC that lie in piece. left is the number of bytes from the start of
// piece to the end of the frame, with the CRC. Bytes of piece after the frame do not change.
func PatchCRC(piece []byte, left int, delta uint32) {
	for i := max(left-crcLen, 0); i < min(left, len(piece)); i++ {
		piece[i] ^= byte(delta >> (8 * (left - 1 - i)))
	}
}

// CheckCRC computes the CRC of a frame and compares it with the CRC in the frame. If they differ, the error is *SyntaxError.
// If part of the frame is missing, the error is io.ErrUnexpectedEOF. For a frame without a CRC, CheckCRC returns nil.
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
		return &SyntaxError{at, "crc", fmt.Sprintf("%08x where the frame has %08x: the frame is damaged", got, want)}
	}
	return nil
}

// advanceCRC returns the CRC register r after n zero bytes: r times x to the power of 8n. It multiplies r by one factor of
// zeroByteFactors for each digit of n in base 256.
func advanceCRC(r uint32, n int) uint32 {
	for i := 0; n > 0; i, n = i+1, n>>8 {
		if digit := n & 255; digit != 0 {
			r = multiplyPolynomials(r, zeroByteFactors[i][digit])
		}
	}
	return r
}

// zeroByteFactors has a factor for each digit, in base 256, of a number of zero bytes below 2^32. The table has 4 KiB. A
// smaller base would save memory but need more multiplications.
var zeroByteFactors = func() (table [4][256]uint32) {
	factor := uint32(1) << (31 - 8) // x to the power of 8
	for i := range table {
		table[i][0] = 1 << 31 // x to the power of 0
		for digit := 1; digit < 256; digit++ {
			table[i][digit] = multiplyPolynomials(table[i][digit-1], factor)
		}
		factor = multiplyPolynomials(table[i][255], factor)
	}
	return table
}()

// multiplyPolynomials returns a times b modulo the polynomial of CRC-32. The highest bit of a factor is the coefficient of x
// to the power of 0.
func multiplyPolynomials(a, b uint32) uint32 {
	var product uint64
	for i := range 32 {
		product ^= (uint64(a) << i) & -(uint64(b) >> i & 1)
	}
	product <<= 1 // aligns the upper half with a and b; the lower half holds the higher powers, from x^32 on
	low := uint32(product)
	for range 4 {
		low = low>>8 ^ crc32.IEEETable[byte(low)]
	}
	return uint32(product>>32) ^ low
}
