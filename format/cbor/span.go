package cbor

import (
	"io"

	"example.com/ferry/field"
	"example.com/ferry/internal/cborhead"
)

// spanAt returns the span of the item at pos, tags included. The span's Kind is the kind of the tagged item.
func spanAt(data []byte, pos int) (field.Span, error) {
	if uint(pos) >= uint(len(data)) {
		return field.Span{}, io.ErrUnexpectedEOF
	}
	b := data[pos]
	if size := shortItemLength(data, pos); size != 0 {
		if size > len(data)-pos {
			return field.Span{}, io.ErrUnexpectedEOF
		}
		s := field.Span{Head: pos, Off: pos, End: pos + size, Kind: kindByInitialByte[b]}
		if b >= cborhead.Bytes<<5 && b < cborhead.Tag<<5 {
			s.Off++
			if b&31 == 24 {
				s.Off++
			}
		}
		return s, nil
	}
	h, at, err := skipTags(data, pos)
	if err != nil {
		return field.Span{}, err
	}
	end, err := skipItems(data, at, 1, 0)
	if err != nil {
		return field.Span{}, err
	}
	s := field.Span{Head: pos, Off: at, End: end, Kind: kindByInitialByte[data[at]]}
	if h.Major >= cborhead.Bytes && h.Major <= cborhead.Map {
		s.Off = h.Next
	}
	return s, nil
}

// kindByInitialByte maps the initial byte of an item to the kind of the item. RFC 8949, sections 3.1 and 3.3.
var kindByInitialByte = func() (t [256]field.Kind) {
	majors := [8]field.Kind{field.Int, field.Int, field.Bytes, field.Text, field.List, field.Map, field.Extension, field.Extension}
	for b := range t {
		t[b] = majors[b>>5]
	}
	t[cborhead.False], t[cborhead.True] = field.Bool, field.Bool
	t[cborhead.Null], t[cborhead.Undefined] = field.Null, field.Null
	t[cborhead.Float16], t[cborhead.Float32], t[cborhead.Float64] = field.Float, field.Float, field.Float
	return t
}()
