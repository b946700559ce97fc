package cbor

import (
	"fmt"
	"io"
	"iter"

	"example.com/ferry/format/internal/keyset"
	"example.com/ferry/format/internal/utf8check"
	"example.com/ferry/internal/cborhead"
)

// pairs validates the pairs of the map h.
func (v *validator) pairs(h head, depth int) (int, error) {
	seen := v.seen.Open()
	pos, n := h.Next, uint64(0)
	for ; h.Info == cborhead.Indefinite || n < h.Arg; n++ {
		if v.strict && h.Info != cborhead.Indefinite {
			if pos, n = v.pass(&seen, pos, n, h.Arg); n == h.Arg {
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
		if pos, hash, err = v.key(pos, depth); err != nil {
			return 0, err
		}
		if v.strict {
			seen.Add(&v.seen, hash)
		}
		if h.Info == cborhead.Indefinite && pos < len(v.data) && v.data[pos] == cborhead.Break {
			return 0, syntax(pos, "a break (0xff) between a map's key and its value")
		}
		if pos, err = v.item(pos, depth); err != nil {
			return 0, err
		}
	}
	if !v.seen.Close(&seen) {
		if off := keyset.Duplicate(int(n), pos-h.Next, v.keys.each(h.Next, int(n)), v.keys.same); off >= 0 {
			return 0, v.twice(off)
		}
	}
	return pos, nil
}

// pass validates pairs from pos on, of which n are passed already, as long as they are usual ones: a short text of ASCII,
// and a scalar. It returns where the first other one starts, and how many are passed then. Nearly all of a message is
// passed here, and nearly without calls.
func (v *validator) pass(seen *keyset.Map, pos int, n, all uint64) (int, uint64) {
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
		next := end + int(whole[b])
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
		hash, ascii := keyset.Hash(data[pos+1:end], v.keys.fold)
		if !ascii {
			break
		}
		seen.Add(&v.seen, hash)
		pos = next
	}
	return pos, n
}

func (v *validator) twice(off int) error {
	k, err := readKey(v.data, off)
	if err != nil {
		return err
	}
	name := k.step(v.data).String()
	if name == "" {
		name = fmt.Sprintf("% x", v.data[k.at:k.end])
	}
	return syntax(off, fmt.Sprintf("key %s stands twice in one map", name))
}

// key validates the key at pos and returns what is behind it, and its hash.
func (v *validator) key(pos, depth int) (int, uint64, error) {
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
			hash, ascii := keyset.Hash(text, v.keys.fold)
			if ascii {
				return end, hash, nil
			}
			return end, hash, v.text(pos+1, end)
		}
	}
	end, err := v.item(pos, depth)
	if err != nil || !v.strict {
		return end, 0, err
	}
	k, err := readKey(v.data, pos)
	if err != nil {
		return 0, 0, err
	}
	if k.Major == cborhead.Array || k.Major == cborhead.Map {
		return 0, 0, syntax(pos, "a map's key is a container: many consumers cannot hold it")
	}
	return end, v.keys.hash(k), nil
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
		return keyset.Int(id.n, id.major == cborhead.Nint)
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
			if at, err = skip(ks.data, k.end, 1, 0); err != nil {
				return
			}
		}
	}
}
