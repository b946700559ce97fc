package msgpack

import (
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/feed"
)

var _ format.Incremental = Format{}

// Seek begins the search for the value at p in a message that arrives in pieces. Strings and extensions are passed by
// their length, containers item by item.
func (Format) Seek(p field.Path, o format.SeekOptions) format.Search {
	return feed.New(Format{}, feed.NewCounted(heads{}, p, o), o)
}

// heads reads items for a Search.
type heads struct{}

// Head reads the head that b starts with. MessagePack has no breaks.
func (heads) Head(b []byte, _ bool) (feed.Item, error) {
	h, err := readHead(b, 0)
	if err != nil {
		return feed.Item{}, err
	}
	it := feed.Item{Kind: h.kind, Off: h.off, End: h.off, Items: h.items()}
	if h.kind != field.List && h.kind != field.Map {
		it.End += feed.Size(h.n)
	}
	return it, nil
}

// Pass goes over items that a byte or two tell.
func (heads) Pass(b []byte, n uint64) (size int, left uint64) {
	for n > 0 && size < len(b) {
		item := short(b, size)
		if item == 0 || item > len(b)-size {
			break
		}
		size += item
		n--
	}
	return size, n
}

// Is reports whether st asks for the key that b is.
func (heads) Is(b []byte, st *field.Step) bool {
	k, err := readKey(b, 0)
	return err == nil && k.is(b, st)
}
