package msgpack

import (
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/incremental"
)

var _ format.Incremental = Format{}

// NewSearch starts the search for the value at p in a message that arrives in pieces. The search skips texts, byte
// strings and extensions by their length. It skips containers item by item.
func (Format) NewSearch(p field.Path, o format.SearchOptions) format.Search {
	return incremental.New(Format{}, incremental.NewCounted(headReader{}, p, o), o)
}

// headReader reads MessagePack heads for package incremental.
type headReader struct{}

// Head reads the head at the start of b. The second parameter is unused, because MessagePack has no break bytes.
func (headReader) Head(b []byte, _ bool) (incremental.Item, error) {
	h, err := readHead(b, 0)
	if err != nil {
		return incremental.Item{}, err
	}
	it := incremental.Item{Kind: h.kind, Off: h.off, End: h.off, Items: h.items()}
	if h.kind != field.List && h.kind != field.Map {
		it.End += incremental.Size(h.n)
	}
	return it, nil
}

// SkipScalars skips up to n items whose first one or two bytes determine their length.
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

// KeyMatches reports whether st names the key that b holds.
func (headReader) KeyMatches(b []byte, st *field.Step) bool {
	k, err := readKey(b, 0)
	return err == nil && k.matches(b, st)
}
