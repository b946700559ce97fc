package cbor

import (
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/incremental"
	"example.com/ferry/internal/cborhead"
)

var _ format.Incremental = Format{}

// NewSearch starts the search for the value at p in a message that arrives in pieces. Text and byte strings are skipped
// by their length. Containers are skipped item by item. The tags of a value are part of its span but are not stored.
func (Format) NewSearch(p field.Path, o format.SearchOptions) format.Search {
	return incremental.New(Format{}, incremental.NewCounted(headReader{}, p, o), o)
}

// headReader implements incremental.HeadReader.
type headReader struct{}

// Head reads the head at the start of b.
func (headReader) Head(b []byte, mayBreak bool) (incremental.Item, error) {
	if mayBreak && len(b) > 0 && b[0] == cborhead.Break {
		return incremental.Item{Break: true, Off: 1, End: 1}, nil
	}
	h, err := cborhead.Read(b, 0)
	if err != nil {
		return incremental.Item{}, err
	}
	it := incremental.Item{Kind: kindByInitialByte[b[0]], Off: h.Next, End: h.Next, Open: h.Info == cborhead.Indefinite}
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

// SkipScalars skips items whose first one or two bytes determine their length.
func (headReader) SkipScalars(b []byte, n uint64) (size int, left uint64) {
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

// KeyMatches reports whether st matches the key b.
func (headReader) KeyMatches(b []byte, st *field.Step) bool {
	k, err := readKey(b, 0)
	return err == nil && k.matches(b, st)
}
