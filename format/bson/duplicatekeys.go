package bson

import (
	"bytes"
	"fmt"
	"iter"

	"example.com/ferry/format/internal/keyset"
)

func (v *validator) duplicateKeyError(pos int) error {
	return syntaxError(pos+1, fmt.Sprintf("key %q stands twice in one document", v.keys.keyAt(pos)))
}

// elementKeys reads the keys of valid elements in data. A key is identified by the offset of its element.
type elementKeys struct {
	data []byte
	fold bool
}

// keyAt returns the key of the element at pos.
func (ks elementKeys) keyAt(pos int) []byte {
	rest := ks.data[pos+1:]
	return rest[:bytes.IndexByte(rest, 0)]
}

// keyHash returns the hash of the key of the element at pos. value is the offset of the element's value.
func (ks elementKeys) keyHash(pos, value int) uint64 {
	h, _ := keyset.Hash(ks.data[pos+1:value-1], ks.fold)
	return h
}

// equalKeys reports whether two elements have equal keys. a and b are the offsets of the elements.
func (ks elementKeys) equalKeys(a, b int) bool {
	if ks.fold {
		return keyset.EqualFold(ks.keyAt(a), ks.keyAt(b))
	}
	return bytes.Equal(ks.keyAt(a), ks.keyAt(b))
}

// offsetsAndHashes yields the offset of each element of c and the hash of its key. All elements must be valid.
func (ks elementKeys) offsetsAndHashes(c container) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		for pos := c.pos; ; {
			more, err := c.hasElement(ks.data, pos)
			if err != nil || !more {
				return
			}
			value, err := c.valueOffset(ks.data, pos)
			if err != nil || !yield(pos, ks.keyHash(pos, value)) {
				return
			}
			if pos, err = skipValue(ks.data, ks.data[pos], value, c.end); err != nil {
				return
			}
		}
	}
}
