package msgpack

import (
	"fmt"
	"iter"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/keyset"
)

// pairs validates the pairs of the map h.
func (v *validator) pairs(h head, depth int) (int, error) {
	seen := v.seen.Open()
	pos := h.off
	for n := uint64(0); n < h.n; n++ {
		if v.strict {
			if pos, n = v.pass(&seen, pos, n, h.n); n == h.n {
				break
			}
		}
		at := pos
		var err error
		if v.strict {
			var hash uint64
			if pos, hash, err = v.key(at); err != nil {
				return 0, err
			}
			seen.Add(&v.seen, hash)
		} else if pos, err = v.item(at, depth); err != nil {
			return 0, err
		}
		if pos, err = v.item(pos, depth); err != nil {
			return 0, err
		}
	}
	if !v.seen.Close(&seen) {
		if off := keyset.Duplicate(int(h.n), pos-h.off, v.keys.each(h.off, int(h.n)), v.keys.same); off >= 0 {
			return 0, v.twice(off)
		}
	}
	return pos, nil
}

// key validates the key at pos and returns what is behind it, and its hash.
func (v *validator) key(pos int) (int, uint64, error) {
	k, err := readKey(v.data, pos)
	if err != nil {
		return 0, 0, err
	}
	switch k.kind {
	case field.Int:
	case field.Text:
		if err := v.text(k.off, k.end); err != nil {
			return 0, 0, err
		}
	default:
		return 0, 0, syntax(pos, fmt.Sprintf("a map's key is of kind %v: many consumers hold only texts and integers", k.kind))
	}
	return k.end, v.keys.hash(k), nil
}

func (v *validator) twice(off int) error {
	k, err := readKey(v.data, off)
	if err != nil {
		return err
	}
	name := k.step(v.data).String()
	if name == "" {
		name = `""`
	}
	return syntax(off, fmt.Sprintf("key %s stands twice in one map", name))
}

// keys reads the keys of valid maps of data.
type keys struct {
	data []byte
	fold bool
}

// hash agrees with same: equal keys have one hash.
func (ks keys) hash(k key) uint64 {
	id := k.identity(ks.data)
	if id.content == nil {
		return keyset.Int(uint64(id.number.n), id.number.n < 0 && !id.number.unsigned)
	}
	h, _ := keyset.Hash(id.content, ks.fold)
	return h
}

// same reports whether some consumer takes the keys at a and b for one.
func (ks keys) same(a, b int) bool {
	x, err := readKey(ks.data, a)
	if err != nil {
		return false
	}
	y, err := readKey(ks.data, b)
	if err != nil {
		return false
	}
	return x.identity(ks.data).equal(y.identity(ks.data), ks.fold)
}

// each yields the offset and hash of the n keys from pos on.
func (ks keys) each(pos, n int) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		at := pos
		for range n {
			k, err := readKey(ks.data, at)
			if err != nil || !yield(at, ks.hash(k)) {
				return
			}
			if at, err = skip(ks.data, k.end, 1); err != nil {
				return
			}
		}
	}
}
