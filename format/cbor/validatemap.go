package cbor

import (
	"fmt"
	"io"

	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/format/internal/utf8check"
	"example.com/ferry/internal/cborhead"
)

// validatePairs validates the pairs of a map. h is the head of the map.
func (v *validator) validatePairs(h head, depth int) (int, error) {
	seen := v.seen.Open()
	pos, n := h.Next, uint64(0)
	for ; h.Info == cborhead.Indefinite || n < h.Arg; n++ {
		if v.strict && h.Info != cborhead.Indefinite {
			if pos, n = v.validateFast(&seen, pos, n, h.Arg); n == h.Arg {
				break
			}
		}
		if h.Info == cborhead.Indefinite {
			end, err := atBreak(v.data, pos, h, 0)
			if err != nil {
				return 0, err
			}
			if end {
				pos++
				break
			}
		}
		var hash uint64
		var err error
		if pos, hash, err = v.validateKey(pos, depth); err != nil {
			return 0, err
		}
		if v.strict {
			seen.Add(&v.seen, hash)
		}
		if h.Info == cborhead.Indefinite && pos < len(v.data) && v.data[pos] == cborhead.Break {
			return 0, syntaxError(pos, "a break (0xff) between a map's key and its value")
		}
		if pos, err = v.validateItem(pos, depth); err != nil {
			return 0, err
		}
	}
	if !v.seen.Close(&seen) {
		if err := v.keys.Unique(int(n), h.Next, pos); err != nil {
			return 0, err
		}
	}
	return pos, nil
}

// validateFast validates pairs of a common form, starting at pos. Such a pair has a short ASCII key and a scalar value.
// n is the number of pairs that are already validated, all is the number of pairs in the map. It returns the offset of
// the first pair of another form, and the new n. Nearly all pairs are validated here, with few function calls.
func (v *validator) validateFast(seen *keyset.Map, pos int, n, all uint64) (int, uint64) {
	data := v.data
	for ; n < all; n++ {
		if uint(pos) >= uint(len(data)) {
			break
		}
		size := data[pos] - cborhead.Text<<5
		end := pos + 1 + int(size)
		if size == 0 || size >= 24 || end+1 >= len(data) || data[pos+1] <= '9' {
			break
		}
		b := data[end]
		next := end + int(lengthByInitialByte[b])
		switch {
		case b-cborhead.Text<<5 < 24:
			if next > len(data) || !utf8check.ASCII(data[end+1:next]) {
				return pos, n
			}
		case b == cborhead.Text<<5|24:
			if next = end + 2 + int(data[end+1]); next > len(data) || !utf8check.ASCII(data[end+2:next]) {
				return pos, n
			}
		case next == end || next > len(data) || b == cborhead.SimpleArg || b&^0x20 == cborhead.Array<<5:
			return pos, n
		}
		hash, ascii := keyset.Hash(data[pos+1:end], v.keys.Fold)
		if !ascii {
			break
		}
		seen.Add(&v.seen, hash)
		pos = next
	}
	return pos, n
}

// validateKey validates the key at pos. It returns the offset after the key, and the key's hash.
func (v *validator) validateKey(pos, depth int) (int, uint64, error) {
	if uint(pos) >= uint(len(v.data)) {
		return 0, 0, io.ErrUnexpectedEOF
	}
	b := v.data[pos]
	if size := b - cborhead.Text<<5; size < 24 && v.strict {
		end := pos + 1 + int(size)
		if end > len(v.data) {
			return 0, 0, io.ErrUnexpectedEOF
		}
		text := v.data[pos+1 : end]
		if len(text) > 0 && text[0] > '9' {
			hash, ascii := keyset.Hash(text, v.keys.Fold)
			if ascii {
				return end, hash, nil
			}
			return end, hash, v.validateText(pos+1, end)
		}
	}
	end, err := v.validateItem(pos, depth)
	if err != nil || !v.strict {
		return end, 0, err
	}
	k, err := readKey(v.data, pos)
	if err != nil {
		return 0, 0, err
	}
	if k.Major == cborhead.Array || k.Major == cborhead.Map {
		return 0, 0, syntaxError(pos, "a map's key is a container: many consumers cannot hold it")
	}
	return end, k.identity(v.data).Hash(v.keys.Fold), nil
}

// keyReader implements keyset.Reader.
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
	return fmt.Sprintf("% x", data[k.start:k.end])
}

// AfterValue implements keyset.Reader.
func (keyReader) AfterValue(data []byte, pos int) (int, error) { return skipItems(data, pos, 1, 0) }
