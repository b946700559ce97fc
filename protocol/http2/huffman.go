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
	huffmanShort    = 8  // codes of at most so many bits are decoded in one step
	huffmanLongest  = 30 // bits of the longest code
)

// huffman has the tables of the decoder. short is indexed by the next eight bits: the byte, and above it the length of its
// code, or 0 if the code is longer. A longer code of n bits is below limit[n], if both are aligned to the left of 32 bits. Its
// byte is symbols[index[n] + code].
var huffman = func() (t struct {
	short   [1 << huffmanShort]uint16
	limit   [huffmanLongest + 1]uint32
	index   [huffmanLongest + 1]int32
	symbols [256]uint8
},
) {
	code, count := uint32(0), 0
	for n := huffmanShortest; n <= huffmanLongest; n++ {
		t.index[n] = int32(count) - int32(code)
		for c, length := range huffmanLengths {
			if int(length) != n {
				continue
			}
			if n <= huffmanShort {
				first := code << (huffmanShort - n)
				for i := range uint32(1) << (huffmanShort - n) {
					t.short[first+i] = uint16(n)<<8 | uint16(c)
				}
			}
			t.symbols[count] = uint8(c)
			count++
			code++
		}
		t.limit[n] = code << (32 - n)
		code <<= 1
	}
	return t
}()

// appendHuffman appends the decoded bytes of src to dst. It returns false if src has the code of EOS, or ends with other padding
// than up to seven bits of ones. RFC 7541, section 5.2.
func appendHuffman(dst, src []byte) ([]byte, bool) {
	at := len(dst)
	most := at + len(src)*8/huffmanShortest
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
			word |= binary.BigEndian.Uint64(src) >> n
			taken := (63 - n) >> 3
			src = src[taken:]
			n += taken << 3
			word &= ^uint64(0) << (64 - n)
		} else {
			for n <= 56 && len(src) > 0 {
				word |= uint64(src[0]) << (56 - n)
				src = src[1:]
				n += 8
			}
		}
		if n < huffmanLongest && len(src) == 0 {
			break
		}
		for n >= huffmanLongest {
			entry := huffman.short[word>>(64-huffmanShort)]
			if entry == 0 {
				length, symbol, ok := huffmanLong(uint32(word >> 32))
				if !ok {
					return dst, false
				}
				entry = uint16(length)<<8 | uint16(symbol)
			}
			out[at] = uint8(entry)
			at++
			word <<= entry >> 8
			n -= uint(entry >> 8)
		}
	}
	for n > 0 {
		entry := huffman.short[word>>(64-huffmanShort)]
		if entry == 0 {
			length, symbol, ok := huffmanLong(uint32(word >> 32))
			if !ok {
				break
			}
			entry = uint16(length)<<8 | uint16(symbol)
		}
		if uint(entry>>8) > n {
			break
		}
		out[at] = uint8(entry)
		at++
		word <<= entry >> 8
		n -= uint(entry >> 8)
	}
	return out[:at], n < 8 && word == ^(^uint64(0)>>n)
}

// huffmanLong decodes a code of more than huffmanShort bits at the left of bits. It returns false for the code of EOS.
func huffmanLong(bits uint32) (length int, symbol uint8, ok bool) {
	for n := huffmanShort + 1; n <= huffmanLongest; n++ {
		if bits < huffman.limit[n] {
			return n, huffman.symbols[huffman.index[n]+int32(bits>>(32-n))], true
		}
	}
	return 0, 0, false
}
