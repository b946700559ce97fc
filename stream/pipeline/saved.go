package pipeline

import (
	"encoding/binary"
	"errors"
	"math"
)

// errSaved is the error of state that is damaged.
var errSaved = errors.New("pipeline: the saved state is damaged")

// saved reads the parts of saved state. After an error all further reads return zero values.
type saved struct {
	data []byte
	err  error
}

func (s *saved) fail() { s.data, s.err = nil, errSaved }

func (s *saved) byte() byte {
	if len(s.data) == 0 {
		s.fail()
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

func (s *saved) uvarint() uint64 {
	v, n := binary.Uvarint(s.data)
	if n <= 0 {
		s.fail()
		return 0
	}
	s.data = s.data[n:]
	return v
}

func (s *saved) varint() int64 {
	v, n := binary.Varint(s.data)
	if n <= 0 {
		s.fail()
		return 0
	}
	s.data = s.data[n:]
	return v
}

func (s *saved) uint64() uint64 {
	if len(s.data) < 8 {
		s.fail()
		return 0
	}
	v := binary.LittleEndian.Uint64(s.data)
	s.data = s.data[8:]
	return v
}

func (s *saved) float() float64 { return math.Float64frombits(s.uint64()) }

// bytes returns a view.
func (s *saved) bytes() []byte {
	n := s.uvarint()
	if n > uint64(len(s.data)) {
		s.fail()
		return nil
	}
	b := s.data[:n:n]
	s.data = s.data[n:]
	return b
}

// count reads a number of elements, each of at least one byte.
func (s *saved) count() int {
	n := s.uvarint()
	if n > uint64(len(s.data)) {
		s.fail()
		return 0
	}
	return int(n)
}

func appendBytes[T string | []byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func appendFloatBits(dst []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}
