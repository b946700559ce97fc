package msgpack

import (
	"io"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Format is MessagePack. The families str, bin and ext are those of the specification since 2013.
type Format struct{}

var (
	_ format.Format  = Format{}
	_ format.Patcher = Format{}
	_ format.Viewer  = Format{}
)

// Name returns "msgpack".
func (Format) Name() string { return "msgpack" }

// Descriptor returns the properties of MessagePack.
func (Format) Descriptor() format.Descriptor {
	return format.Descriptor{Type: ferry.MsgPack, Detection: format.DetectSecond}
}

// Lookup returns where the value at p lies in data. The span holds byte offsets: Head is the first byte, Off is the
// content after the length and the extension's type. A step is a text key, an integer key or an index. Lookup stops at
// the value and does not validate the items before it. Of duplicate keys, it finds the first. It allocates nothing. A
// missing key gives field.ErrNotFound. Data that ends early gives io.ErrUnexpectedEOF. Other malformed data gives
// *format.SyntaxError.
func (Format) Lookup(data []byte, p field.Path) (field.Span, error) {
	pos := 0
	steps := p.Steps()
	for i := range steps {
		var err error
		if pos, err = enterItem(data, pos, &steps[i]); err != nil {
			return field.Span{}, err
		}
	}
	return spanAt(data, pos)
}

// enterItem returns the offset of the value that st names in the container at pos.
func enterItem(data []byte, pos int, st *field.Step) (int, error) {
	h, err := readHead(data, pos)
	switch {
	case err != nil:
		return 0, err
	case h.kind == field.Map:
		return enterMap(data, h, st)
	case h.kind == field.List && st.Index >= 0 && uint64(st.Index) < h.n:
		return skipItems(data, h.off, st.Index)
	}
	return 0, field.ErrNotFound
}

func enterMap(data []byte, h head, st *field.Step) (int, error) {
	var w field.KeyFilter
	w.Add(st)
	pos := h.off
	for left := h.n; left != 0; left-- {
		if pos, left = skipPairs(data, pos, left, w.Names); left == 0 {
			break
		}
		if uint(pos) >= uint(len(data)) {
			return 0, io.ErrUnexpectedEOF
		}
		hit := false
		if size := data[pos] - byteFixStr; size < 32 {
			name := pos + 1
			if pos = name + int(size); pos > len(data) {
				return 0, io.ErrUnexpectedEOF
			}
			hit = string(data[name:pos]) == st.Name
		} else {
			k, err := readKey(data, pos)
			if err != nil {
				return 0, err
			}
			pos, hit = k.end, k.matches(data, st)
		}
		if hit {
			return pos, nil
		}
		var err error
		if pos, err = skipItems(data, pos, 1); err != nil {
			return 0, err
		}
	}
	if pos > len(data) {
		return 0, io.ErrUnexpectedEOF
	}
	return 0, field.ErrNotFound
}

// spanAt returns the span of the item at pos.
func spanAt(data []byte, pos int) (field.Span, error) {
	if uint(pos) >= uint(len(data)) {
		return field.Span{}, io.ErrUnexpectedEOF
	}
	f := headFamilies[data[pos]]
	end := pos + shortItemLength(data, pos)
	if end == pos {
		var err error
		if end, err = skipItems(data, pos, 1); err != nil {
			return field.Span{}, err
		}
	}
	if end > len(data) {
		return field.Span{}, io.ErrUnexpectedEOF
	}
	return field.Span{Head: pos, Off: pos + int(f.head), End: end, Kind: f.kind}, nil
}
