package format

import (
	"slices"

	"example.com/ferry/field"
)

// Editor is a Patcher that plans a change without applying it. It can also insert and delete values. Each method resets
// e to data. The plan includes the new lengths and counts of all enclosing containers. After an error the plan is
// empty, so applying e returns data unchanged. v.Bytes is not copied and must stay unchanged until e is applied.
type Editor interface {
	Patcher

	// Replace plans the change that Patch makes.
	Replace(e *Edit, data []byte, p field.Path, v field.Value) error

	// Insert plans a new value at p. The parent of p must exist. In a map the value becomes the last one. In a list the
	// new item is inserted before the item whose index is the last step of p; an index equal to the list's length
	// appends. An existing key gives ErrExists. A missing parent or a larger index gives field.ErrNotFound. For a List
	// or Map, v.Bytes is the encoded container in the message's own format. This encoding must be valid, and the result
	// must not nest deeper than Options allows by default. A *TypeError means that the format cannot express the value,
	// or that p cannot hold it.
	Insert(e *Edit, data []byte, p field.Path, v field.Value) error

	// Delete plans the removal of the value at p and its key. In a list the indices of later items decrease by one.
	// Deleting the whole message gives ErrWhole.
	Delete(e *Edit, data []byte, p field.Path) error
}

// Edit is one planned change of an encoded message: a list of byte ranges and their replacements. A new plan discards
// the previous one, so apply each change before the next is planned. The zero Edit is ready for use. A reused Edit
// allocates nothing once its buffers have grown. An Edit is not safe for use by several goroutines.
type Edit struct {
	data    []byte
	parts   []replacement // sorted by offset; ranges do not overlap
	scratch []byte        // holds the bytes that PutCopy copied
}

// replacement is one range of data, data[off:end], and the bytes that replace this range.
type replacement struct {
	off, end int
	newBytes []byte
}

// Reset discards the planned change and starts a plan for data. data must stay unchanged until the change is applied.
func (e *Edit) Reset(data []byte) {
	e.data = data
	clear(e.parts)
	e.parts, e.scratch = e.parts[:0], e.scratch[:0]
}

// Put plans to replace data[off:end] by newBytes, without copying newBytes. Formats may call Put in any order. Ranges
// must not overlap. Several insertions at one offset appear in the order of the calls.
func (e *Edit) Put(off, end int, newBytes []byte) {
	if off == end && len(newBytes) == 0 {
		return
	}
	i := len(e.parts)
	for i > 0 && e.parts[i-1].off > off {
		i--
	}
	e.parts = append(e.parts, replacement{})
	copy(e.parts[i+1:], e.parts[i:])
	e.parts[i] = replacement{off, end, newBytes}
}

// Room returns an empty slice whose capacity belongs to the Edit. Append to it and pass the result to PutCopy: the
// bytes then need no allocation if they fit the capacity.
func (e *Edit) Room() []byte { return e.scratch[len(e.scratch):] }

// PutCopy is Put with a copy of newBytes. Use it for short temporary bytes such as heads and lengths.
func (e *Edit) PutCopy(off, end int, newBytes []byte) {
	at := len(e.scratch)
	e.scratch = append(e.scratch, newBytes...)
	e.Put(off, end, e.scratch[at:len(e.scratch):len(e.scratch)])
}

// Len returns the length of the changed message in bytes.
func (e *Edit) Len() int {
	n := len(e.data)
	for _, p := range e.parts {
		n += len(p.newBytes) - (p.end - p.off)
	}
	return n
}

// AppendTo appends the changed message to dst, and allocates at most once. dst must not overlap the message.
func (e *Edit) AppendTo(dst []byte) []byte {
	dst = slices.Grow(dst, e.Len())
	at := 0
	for _, p := range e.parts {
		dst = append(append(dst, e.data[at:p.off]...), p.newBytes...)
		at = p.end
	}
	return append(dst, e.data[at:]...)
}

// Buffers appends the parts of the changed message to dst, in the order in which net.Buffers must write them. Unchanged
// parts are views into the message, so no byte of the message is copied. All parts are valid until the next Reset.
func (e *Edit) Buffers(dst [][]byte) [][]byte {
	at := 0
	for _, p := range e.parts {
		dst = appendPart(dst, e.data[at:p.off])
		dst = appendPart(dst, p.newBytes)
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

// InPlace applies the change to the message itself and returns true. If the change would shift any other byte, it
// returns false and leaves the message unchanged.
func (e *Edit) InPlace() bool {
	for i := 0; i < len(e.parts); {
		grown := 0
		for first := i; i < len(e.parts) && (i == first || e.parts[i].off == e.parts[i-1].end); i++ {
			grown += len(e.parts[i].newBytes) - (e.parts[i].end - e.parts[i].off)
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
		at += copy(e.data[at:], p.newBytes)
	}
	return true
}
