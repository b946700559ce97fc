package format

import (
	"slices"

	"example.com/ferry/field"
)

// Editor is a Patcher that plans a change without applying it, and that can insert and delete values. Each method
// resets e to data, and updates the lengths and counts of all enclosing containers in the plan. After an error the plan
// is empty: applying it returns data unchanged. v.Bytes is not copied and must stay unchanged until e is applied.
type Editor interface {
	Patcher

	// Replace plans the change that Patch makes.
	Replace(e *Edit, data []byte, p field.Path, v field.Value) error

	// Insert plans a new value at p. The parent of p must exist. In a map the value becomes the last one; in a list it
	// is inserted before the item with its index, or appended if the index is the list's length. An existing key gives
	// ErrExists; a missing parent or a larger index gives field.ErrNotFound. For a List or Map, v.Bytes is its encoding
	// in the message's own format. It must be valid, and the message must not nest deeper than Options allows by
	// default. A value that the format cannot express gives a *TypeError, and so does one that p cannot hold.
	Insert(e *Edit, data []byte, p field.Path, v field.Value) error

	// Delete plans the message without the value at p and its key. In a list the indices of later items decrease by
	// one. The whole message cannot be deleted: ErrWhole.
	Delete(e *Edit, data []byte, p field.Path) error
}

// Edit is one planned change of an encoded message: a list of byte ranges and their replacements. Planning another
// change discards the first, so several changes are applied one after another. The zero Edit is ready for use. A reused
// Edit allocates nothing once its buffers have grown. It is not safe for use by several goroutines.
type Edit struct {
	data    []byte
	parts   []replacement // in order, without overlaps
	scratch []byte
}

// replacement puts with in place of data[off:end].
type replacement struct {
	off, end int
	with     []byte
}

// Reset discards the planned change and starts one of data. data must stay unchanged until the change is applied.
func (e *Edit) Reset(data []byte) {
	e.data = data
	clear(e.parts)
	e.parts, e.scratch = e.parts[:0], e.scratch[:0]
}

// Put plans to replace data[off:end] by with. It does not copy with. Formats call it, in any order. Ranges must not
// overlap. Of several at one offset the first one put comes first.
func (e *Edit) Put(off, end int, with []byte) {
	if off == end && len(with) == 0 {
		return
	}
	i := len(e.parts)
	for i > 0 && e.parts[i-1].off > off {
		i--
	}
	e.parts = append(e.parts, replacement{})
	copy(e.parts[i+1:], e.parts[i:])
	e.parts[i] = replacement{off, end, with}
}

// Room returns an empty slice with spare capacity of the Edit. Bytes appended to it and passed to the next PutCopy need
// no allocation.
func (e *Edit) Room() []byte { return e.scratch[len(e.scratch):] }

// PutCopy is Put with a copy of with. It is meant for heads and lengths, which are short and temporary.
func (e *Edit) PutCopy(off, end int, with []byte) {
	at := len(e.scratch)
	e.scratch = append(e.scratch, with...)
	e.Put(off, end, e.scratch[at:len(e.scratch):len(e.scratch)])
}

// Len returns the length of the changed message in bytes.
func (e *Edit) Len() int {
	n := len(e.data)
	for _, p := range e.parts {
		n += len(p.with) - (p.end - p.off)
	}
	return n
}

// AppendTo appends the changed message to dst, which must not overlap the message. It allocates at most once.
func (e *Edit) AppendTo(dst []byte) []byte {
	dst = slices.Grow(dst, e.Len())
	at := 0
	for _, p := range e.parts {
		dst = append(append(dst, e.data[at:p.off]...), p.with...)
		at = p.end
	}
	return append(dst, e.data[at:]...)
}

// Buffers appends the changed message to dst as parts to write in order, as net.Buffers does. Unchanged parts are views
// into the message: no byte of it is copied. All parts are valid until the next Reset.
func (e *Edit) Buffers(dst [][]byte) [][]byte {
	at := 0
	for _, p := range e.parts {
		dst = appendPart(dst, e.data[at:p.off])
		dst = appendPart(dst, p.with)
		at = p.end
	}
	return appendPart(dst, e.data[at:])
}

func appendPart(dst [][]byte, part []byte) [][]byte {
	if len(part) == 0 {
		return dst
	}
	return append(dst, part)
}

// InPlace applies the change in the message itself if no other byte has to move. Otherwise it returns false and leaves
// the message unchanged.
func (e *Edit) InPlace() bool {
	for i := 0; i < len(e.parts); {
		grown := 0
		for first := i; i < len(e.parts) && (i == first || e.parts[i].off == e.parts[i-1].end); i++ {
			grown += len(e.parts[i].with) - (e.parts[i].end - e.parts[i].off)
		}
		if grown != 0 {
			return false
		}
	}
	at := 0
	for i, p := range e.parts {
		if i == 0 || p.off != e.parts[i-1].end {
			at = p.off
		}
		at += copy(e.data[at:], p.with)
	}
	return true
}
