package keyset

import (
	"fmt"
	"iter"

	"example.com/ferry/format"
)

// Reader reads the keys of valid maps in one format.
type Reader interface {
	format.Format

	// Key returns the identity of the key at pos and the offset behind it.
	Key(data []byte, pos int) (Identity, int, error)

	// KeyText returns the key at pos as an error message writes it.
	KeyText(data []byte, pos int) string

	// AfterValue returns the offset behind the value at pos.
	AfterValue(data []byte, pos int) (int, error)
}

// Keys compares the keys of valid maps.
type Keys struct {
	Reader Reader
	Data   []byte
	Fold   bool // keys that differ in ASCII case only are equal
}

// Unique returns a *format.SyntaxError if a key occurs twice in the map with n pairs in Data[off:end].
func (ks Keys) Unique(n, off, end int) error {
	twice := Duplicate(n, end-off, ks.each(off, n), ks.same)
	if twice < 0 {
		return nil
	}
	reason := fmt.Sprintf("key %s stands twice in one map", ks.Reader.KeyText(ks.Data, twice))
	return &format.SyntaxError{Format: ks.Reader.Name(), Offset: twice, Reason: reason}
}

func (ks Keys) same(a, b int) bool {
	x, _, err := ks.Reader.Key(ks.Data, a)
	if err != nil {
		return false
	}
	y, _, err := ks.Reader.Key(ks.Data, b)
	return err == nil && x.Equal(y, ks.Fold)
}

// each yields the offset and hash of the n keys from pos on.
func (ks Keys) each(pos, n int) iter.Seq2[int, uint64] {
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
