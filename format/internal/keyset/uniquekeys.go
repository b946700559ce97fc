package keyset

import (
	"fmt"
	"iter"

	"example.com/ferry/format"
)

// Reader reads the keys of valid maps. Each format has its own Reader.
type Reader interface {
	format.Format

	// Key returns the identity of the key at pos and the offset after the key.
	Key(data []byte, pos int) (Identity, int, error)

	// KeyText returns the key at pos in the form used by error messages.
	KeyText(data []byte, pos int) string

	// AfterValue returns the offset after the value at pos.
	AfterValue(data []byte, pos int) (int, error)
}

// Keys searches the maps of a valid message for duplicate keys.
type Keys struct {
	Reader Reader
	Data   []byte
	Fold   bool // treat keys that differ only in ASCII case as equal
}

// Unique returns a *format.SyntaxError if a key occurs twice in a map. The map has n pairs, which lie in Data[off:end].
func (ks Keys) Unique(n, off, end int) error {
	twice := Duplicate(n, end-off, ks.offsetsAndHashes(off, n), ks.equalAt)
	if twice < 0 {
		return nil
	}
	reason := fmt.Sprintf("key %s stands twice in one map", ks.Reader.KeyText(ks.Data, twice))
	return &format.SyntaxError{Format: ks.Reader.Name(), Offset: twice, Reason: reason}
}

func (ks Keys) equalAt(a, b int) bool {
	x, _, err := ks.Reader.Key(ks.Data, a)
	if err != nil {
		return false
	}
	y, _, err := ks.Reader.Key(ks.Data, b)
	return err == nil && x.Equal(y, ks.Fold)
}

// offsetsAndHashes yields the offset and hash of each of the n keys that start at pos.
func (ks Keys) offsetsAndHashes(pos, n int) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		at := pos
		for range n {
			id, value, err := ks.Reader.Key(ks.Data, at)
			if err != nil || !yield(at, id.Hash(ks.Fold)) {
				return
			}
			if at, err = ks.Reader.AfterValue(ks.Data, value); err != nil {
				return
			}
		}
	}
}
