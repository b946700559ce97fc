package cbor

import (
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/incremental"
	"example.com/ferry/internal/cborhead"
)

var _ format.Incremental = Format{}

// NewSearch begins the search for the value at p in a message that arrives in pieces. Text and byte strings are passed by
// their length, containers item by item. The tags before a value are part of its span and are not kept.
func (Format) NewSearch(p field.Path, o format.SearchOptions) format.Search {
	return incremental.New(Format{}, incremental.NewCounted(headReader{}, p, o), o)
}

// headReader reads items for a Search.
type headReader struct{}

// Head reads the head that b starts with.
func (headReader) Head(b []byte, mayBreak bool) (incremental.Item, error) {
	if mayBreak && len(b) > 0 && b[0] == cborhead.Break {
		return incremental.Item{Break: true, Off: 1, End: 1}, nil
	}
	h, err := cborhead.Read(b, 0)
	if err != nil {
		return incremental.Item{}, err
	}
	it := incremental.Item{Kind: kinds[b[0]], Off: h.Next, End: h.Next, Open: h.Info == cborhead.Indefinite}
	switch h.Major {
	case cborhead.Bytes, cborhead.Text:
		if !it.Open {
			it.End += incremental.Size(h.Arg)
		}
	case cborhead.Array:
		it.Items = h.Arg
	case cborhead.Map:
		it.Items = 2 * min(h.Arg, 1<<62)
	case cborhead.Tag:
		it.Tag = true
	default:
		it.Off = 0
	}
	return it, nil
}

// Pass goes over items that a byte or two tell.
func (headReader) Pass(b []byte, n uint64) (size int, left uint64) {
	for n > 0 && size < len(b) {
		item := shortItemLength(b, size)
		if item == 0 || item > len(b)-size {
			break
		}
		size += item
		n--
	}
	return size, n
}

// Is reports whether st asks for the key that b is.
func (headReader) Is(b []byte, st *field.Step) bool {
	k, err := readKey(b, 0)
	return err == nil && k.matches(b, st)
}
