package cbor

import (
	"io"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/internal/cborhead"
)

// Format is CBOR. RFC 8949.
type Format struct{}

var (
	_ format.Format  = Format{}
	_ format.Patcher = Format{}
	_ format.Viewer  = Format{}
)

// Name returns "cbor".
func (Format) Name() string { return "cbor" }

// Descriptor returns the properties of CBOR.
func (Format) Descriptor() format.Descriptor {
	return format.Descriptor{Type: ferry.CBOR, Detection: format.DetectFirst}
}

// Lookup returns where the value at p lies in data, as byte offsets. Head is the offset of the value's tags and head,
// Off is the offset of the content. A step is a text key, an integer key or an index. Lookup stops at the value and
// does not validate the items before it. It accepts heads of any length and uses the first of duplicate keys. It
// allocates nothing. A missing key gives field.ErrNotFound, data that ends early io.ErrUnexpectedEOF, other malformed
// data *format.SyntaxError.
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

// enterItem returns the offset of the value that st selects in the item at pos.
func enterItem(data []byte, pos int, st *field.Step) (int, error) {
	if uint(pos) >= uint(len(data)) {
		return 0, io.ErrUnexpectedEOF
	}
	h, ok := readShortHead(data, pos)
	if !ok {
		var err error
		if h, _, err = skipTags(data, pos); err != nil {
			return 0, err
		}
	}
	switch h.Major {
	case cborhead.Map:
		return enterMap(data, h, st)
	case cborhead.Array:
		return enterArray(data, h, st.Index)
	}
	return 0, field.ErrNotFound
}

func enterArray(data []byte, h head, index int) (int, error) {
	if index < 0 || h.Info != cborhead.Indefinite && uint64(index) >= h.Arg {
		return 0, field.ErrNotFound
	}
	if h.Info != cborhead.Indefinite {
		return skipItems(data, h.Next, index, 0)
	}
	for pos, n := h.Next, 0; ; n++ {
		end, err := atBreak(data, pos, h, n)
		switch {
		case err != nil:
			return 0, err
		case end:
			return 0, field.ErrNotFound
		case n == index:
			return pos, nil
		}
		if pos, err = skipItems(data, pos, 1, 0); err != nil {
			return 0, err
		}
	}
}

func enterMap(data []byte, h head, st *field.Step) (int, error) {
	var w field.KeyFilter
	w.Add(st)
	pos := h.Next
	for left := pairCount(h); left != 0; left-- {
		if pos, left = skipPairs(data, pos, left, w.Names, w.Indices); left == 0 {
			break
		}
		if uint(pos) >= uint(len(data)) {
			return 0, io.ErrUnexpectedEOF
		}
		b := data[pos]
		if b == cborhead.Break && h.Info == cborhead.Indefinite {
			return 0, field.ErrNotFound
		}
		hit := false
		if size := b - cborhead.Text<<5; size < 24 {
			key := pos + 1
			if pos = key + int(size); pos > len(data) {
				return 0, io.ErrUnexpectedEOF
			}
			hit = string(data[key:pos]) == st.Name
		} else if n, size := readShortInteger(data, pos); size > 0 {
			pos, hit = pos+size, n == st.Index
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
		if pos, err = skipItems(data, pos, 1, 0); err != nil {
			return 0, err
		}
	}
	if pos > len(data) {
		return 0, io.ErrUnexpectedEOF
	}
	return 0, field.ErrNotFound
}

// pairCount returns the number of pairs that a map claims. For a map of indefinite length it returns the largest
// uint64, which no loop counts down to 0.
func pairCount(h head) uint64 {
	if h.Info == cborhead.Indefinite {
		return 1<<64 - 1
	}
	return h.Arg
}
