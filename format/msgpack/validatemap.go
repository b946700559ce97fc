package msgpack

import (
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format/internal/keyset"
)

// validatePairs validates the pairs of the map h, and returns the map's end.
func (v *validator) validatePairs(h head, depth int) (int, error) {
	seen := v.seen.Open()
	pos := h.off
	for n := uint64(0); n < h.n; n++ {
		if v.strict {
			if pos, n = v.validateFast(&seen, pos, n, h.n); n == h.n {
				break
			}
		}
		at := pos
		var err error
		if v.strict {
			var hash uint64
			if pos, hash, err = v.validateKey(at); err != nil {
				return 0, err
			}
			seen.Add(&v.seen, hash)
		} else if pos, err = v.validateItem(at, depth); err != nil {
			return 0, err
		}
		if pos, err = v.validateItem(pos, depth); err != nil {
			return 0, err
		}
	}
	if !v.seen.Close(&seen) {
		if err := v.keys.Unique(int(h.n), h.off, pos); err != nil {
			return 0, err
		}
	}
	return pos, nil
}

// validateKey validates the key at pos. It returns the key's end and the key's hash.
func (v *validator) validateKey(pos int) (int, uint64, error) {
	k, err := readKey(v.data, pos)
	if err != nil {
		return 0, 0, err
	}
	switch k.kind {
	case field.Int:
	case field.Text:
		if err := v.validateText(k.off, k.end); err != nil {
			return 0, 0, err
		}
	default:
		return 0, 0, syntaxError(pos, fmt.Sprintf("a map's key is of kind %v: many consumers hold only texts and integers", k.kind))
	}
	return k.end, k.identity(v.data).Hash(v.keys.Fold), nil
}

// keyReader reads MessagePack keys for package keyset.
type keyReader struct{ Format }

// Key implements keyset.Reader.
func (keyReader) Key(data []byte, pos int) (keyset.Identity, int, error) {
	k, err := readKey(data, pos)
	if err != nil {
		return keyset.Identity{}, 0, err
	}
	return k.identity(data), k.end, nil
}

// KeyText implements keyset.Reader.
func (keyReader) KeyText(data []byte, pos int) string {
	k, err := readKey(data, pos)
	if err != nil {
		return err.Error()
	}
	if name := k.step(data).String(); name != "" {
		return name
	}
	return `""`
}

// AfterValue implements keyset.Reader.
func (keyReader) AfterValue(data []byte, pos int) (int, error) { return skipItems(data, pos, 1) }
