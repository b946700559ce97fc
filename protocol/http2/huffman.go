package http2

import "encoding/binary"

// huffmanLengths are the lengths in bits of the codes of all bytes. RFC 7541, appendix B. The code is canonical: codes of one
// length follow each other in the order of their bytes, so the lengths define the codes.
var huffmanLengths = [256]uint8{
	13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
	28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
	6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
	5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
	13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
	7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
	15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
	6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
	20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
	24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
	22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
	21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
	26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
	19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
	20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
	26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
}

const (
	huffmanShortest = 5  // bits of the shortest code
	huffmanStep     = 12 // bits that are looked up in one step; most pairs of codes fit
	huffmanLongest  = 30 // bits of the longest code
)

// huffman has the tables of the decoder. steps is indexed by the next huffmanStep bits. A longer code of n bits is below limit[n],
// if both are aligned to the left of 32 bits. Its byte is symbols[index[n] + code].
var huffman = func() (t struct {
	steps   [1 << huffmanStep]huffmanEntry
	limit   [huffmanLongest + 1]uint32
	index   [huffmanLongest + 1]int32
	symbols [256]uint8
},
) {
	code, count := uint32(0), 0
	var short [1 << huffmanStep]huffmanEntry // the first code only
	for n := huffmanShortest; n <= huffmanLongest; n++ {
		t.index[n] = int32(count) - int32(code)
		for c, length := range huffmanLengths {
			if int(length) != n {
				continue
			}
			if n <= huffmanStep {
				first := code << (huffmanStep - n)
				for i := range uint32(1) << (huffmanStep - n) {
					short[first+i] = oneSymbol(uint8(c), n)
				}
			}
			t.symbols[count] = uint8(c)
			count++
			code++
		}
		t.limit[n] = code << (32 - n)
		code <<= 1
	}
	for i, e := range short {
		t.steps[i] = e
		if e == 0 {
			continue
		}
		if next := short[i<<e.bits()&(1<<huffmanStep-1)]; next != 0 && e.bits()+next.bits() <= huffmanStep {
			t.steps[i] = huffmanEntry(2<<24|(e.bits()+next.bits())<<16) | next&0xff<<8 | e&0xff
		}
	}
	return t
}()

// huffmanEntry is the result of a step: from the lowest byte up the first byte, the second byte, the bits of their codes, and the
// number of bytes. It is 0 if the first code is longer than a step.
type huffmanEntry uint32

func oneSymbol(c uint8, bits int) huffmanEntry {
	return huffmanEntry(1<<24 | uint32(bits)<<16 | uint32(c))
}

// bits returns at most 63, so that the compiler knows that a shift needs no check.
func (e huffmanEntry) bits() uint { return uint(e>>16) & 63 }

// appendHuffman appends the decoded bytes of src to dst. It returns false if src has the code of EOS, or ends with other padding
// than up to seven bits of ones. RFC 7541, section 5.2.
func appendHuffman(dst, src []byte) ([]byte, bool) {
	at := len(dst)
	most := at + len(src)*8/huffmanShortest + 2 // a step writes two bytes, also if it has one
	if cap(dst) < most {
		grown := make([]byte, at, most+most/2)
		copy(grown, dst)
		dst = grown
	}
	out := dst[:most]
	var word uint64 // the next bits, aligned to the left; zeros follow them
	n := uint(0)    // number of bits in word
	for {
		if len(src) >= 8 {
			word |= binary.BigEndian.Uint64(src) >> (n & 63)
			taken := (63 - n) >> 3
			src = src[taken:]
			n += taken << 3
			word &= ^uint64(0) << ((64 - n) & 63)
		} else {
			for n <= 56 && len(src) > 0 {
				word |= uint64(src[0]) << ((56 - n) & 63)
				src = src[1:]
				n += 8
			}
		}
		if n < huffmanLongest && len(src) == 0 {
			break
		}
		for n >= huffmanLongest {
			e := huffman.steps[word>>(64-huffmanStep)]
			if e == 0 {
				if e = huffmanLong(uint32(word >> 32)); e == 0 {
					return dst, false
				}
			}
			binary.LittleEndian.PutUint16(out[at:], uint16(e))
			at += int(e >> 24)
			word <<= e.bits()
			n -= e.bits()
		}
	}
	for n > 0 {
		e := huffman.steps[word>>(64-huffmanStep)]
		if e == 0 {
			e = huffmanLong(uint32(word >> 32))
		}
		bits := uint(huffmanLengths[uint8(e)])
		if e == 0 || bits > n {
			break
		}
		out[at] = uint8(e)
		at++
		word <<= bits
		n -= bits
	}
	return out[:at], n < 8 && word == ^(^uint64(0)>>n)
}

// huffmanLong decodes a code of more than huffmanStep bits at the left of bits. It returns 0 for the code of EOS.
func huffmanLong(bits uint32) huffmanEntry {
	for n := huffmanStep + 1; n <= huffmanLongest; n++ {
		if bits < huffman.limit[n] {
			return oneSymbol(huffman.symbols[huffman.index[n]+int32(bits>>(32-n))], n)
		}
	}
	return 0
}
